// cairn/adapt/imgui.hpp - Dear ImGui in a memory of its own.
//
//      cairn::budget<cairn::heap<>> memory{16_MiB};
//      cairn::imgui_memory for_imgui{memory, "interface"};   // before ImGui::CreateContext()
//      ImGui::CreateContext();
//
// ImGui uses each pointer without a test for nullptr. So a refusal ends the program, with a
// sentence that names the memory, the size and the limit.
//
// Memory:    heap<>: ImGui keeps its blocks and grows them in the first frames only.
// Lifetimes: the object ends after ImGui::DestroyContext(), and before its memory.
// Threads:   those of the memory. ImGui calls from the thread that uses its context.
#pragma once

#include <cairn/adapt/hooks.hpp>
#include <cairn/adapt/inside/library_memory.hpp>
#include <cairn/core/inside/compiler.hpp>

#include <imgui.h>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// While it exists, ImGui asks an A for every block.
template <byte_allocator A>
class imgui_memory {
public:
    /// `name`: of the memory, in the sentence of a refusal; it must exist as long as this object.
    explicit imgui_memory(A& memory CAIRN_LIFETIMEBOUND, const char* name = "Dear ImGui") noexcept
        : memory_{&memory}, name_{name} {
        ImGui::GetAllocatorFunctions(&old_allocate_, &old_free_, &old_context_);
        ImGui::SetAllocatorFunctions(&allocate, &deallocate, this);
    }
    imgui_memory(const imgui_memory&) = delete;
    imgui_memory& operator=(const imgui_memory&) = delete;
    /// ImGui asks whom it asked before. Requires: every context is destroyed.
    ~imgui_memory() { ImGui::SetAllocatorFunctions(old_allocate_, old_free_, old_context_); }

private:
    using in = context_hooks<A>;

    static void* allocate(std::size_t size, void* self) {
        const auto& own = *static_cast<imgui_memory*>(self);
        void* const p = (in::malloc)(own.memory_, size);
        if (p != nullptr) [[likely]] { return p; }
        detail::end_for_library("Dear ImGui", own.name_, size, detail::limit_of(*own.memory_));
    }
    static void deallocate(void* p, void* self) {
        (in::free)(static_cast<imgui_memory*>(self)->memory_, p);
    }

    A* memory_;
    const char* name_;
    ImGuiMemAllocFunc old_allocate_ = nullptr;
    ImGuiMemFreeFunc old_free_ = nullptr;
    void* old_context_ = nullptr;
};

}}  // namespace cairn::CAIRN_FLAVOUR
