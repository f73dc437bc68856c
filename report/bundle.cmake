# Bundles report/ into OUT: cmake -D SOURCE=report -D OUT=FILE -P bundle.cmake
# Never fails: without node, npm or the packages OUT is empty, the lab writes its plain page, and one
# sentence says why. OUT is then older than everything, so the next build tries again.
find_program(node NAMES node nodejs)
find_program(npm npm)
cmake_path(GET OUT PARENT_PATH folder)
set(why "")
if(NOT node OR NOT npm)
    set(why "node and npm are not installed")
else()
    # Packages go into the build folder: the source tree stays as it was.
    file(MAKE_DIRECTORY ${folder})
    file(COPY ${SOURCE}/package.json ${SOURCE}/package-lock.json ${SOURCE}/build.mjs ${SOURCE}/src
         DESTINATION ${folder})
    file(SHA256 ${SOURCE}/package-lock.json lock)
    set(stamp ${folder}/node_modules/.${lock})
    if(NOT EXISTS ${stamp})
        execute_process(COMMAND ${npm} ci --omit=dev --ignore-scripts --no-audit --no-fund --prefer-offline
                --fetch-retries=1 --fetch-timeout=30000
            WORKING_DIRECTORY ${folder} RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text TIMEOUT 180)
        if(result EQUAL 0)
            file(TOUCH ${stamp})
        else()
            set(why "npm could not fetch the packages that report/package-lock.json names")
        endif()
    endif()
    if(why STREQUAL "")
        execute_process(COMMAND ${node} build.mjs ${OUT}
            WORKING_DIRECTORY ${folder} RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
        if(NOT result EQUAL 0)
            set(why "esbuild failed: ${text}")
        endif()
    endif()
endif()
if(NOT why STREQUAL "")
    message(STATUS "lab: the page will be plain, without plots: ${why}")
    file(WRITE ${OUT} "")
    execute_process(COMMAND touch -d 1980-01-01 ${OUT})
endif()
