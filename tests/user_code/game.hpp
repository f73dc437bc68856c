// tests/user_code/game.hpp - the types of a program; included in namespace game by the tests here.
struct thing {
    int v = 0;
    thing() = default;
    explicit thing(int i) : v{i} {}
    thing(const thing& other) : v{other.v} {}
    thing(thing&& other) noexcept : v{other.v} {}
    thing& operator=(const thing& other) {
        v = other.v;
        return *this;
    }
    thing& operator=(thing&& other) noexcept {
        v = other.v;
        return *this;
    }
    ~thing() { v = -1; }
    bool operator==(const thing&) const = default;
};
struct pod_value {
    int v = 0;
};
struct soldier {
    thing a;
    int k = 0;
    pod_value p;
};
struct figure {
    virtual ~figure() = default;
    thing t;
};
struct circle : figure {
    thing u;
};
struct quest {
    cairn::ref<quest> next;
    thing t;
    using references = cairn::refers_to<&quest::next>;
};
/// A fit of the program: its functions may be found by the argument types of a heap's inside.
struct own_fit : cairn::first_fit {};
struct own_waiting_fit : cairn::good_fit {};
/// Memory of the program itself.
class game_memory {
public:
    void* allocate(std::size_t size, cairn::alignment align = cairn::default_alignment) noexcept {
        return blocks_.allocate(size, align);
    }
    void deallocate(void* p, std::size_t size,
                    cairn::alignment align = cairn::default_alignment) noexcept {
        blocks_.deallocate(p, size, align);
    }

private:
    cairn::heap<> blocks_;
};
