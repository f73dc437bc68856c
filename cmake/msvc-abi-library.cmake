# Included by tools/prove-msvc-abi behind project(): the library reads its headers once for all its sources,
# under the warnings that only this ABI has.
cmake_language(DEFER CALL target_precompile_headers cairn PRIVATE "$ENV{CAIRN_MSVC_HEADERS}")
cmake_language(DEFER CALL target_compile_options cairn PRIVATE
    -Wmicrosoft -Wgnu -Wlanguage-extension-token)
