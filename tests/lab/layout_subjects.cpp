// The structs that `cairn layout` is asked about (tests/lab/layout_test.py): no header, so that a
// compiler takes no time, and every variant of debug information can be made of it.

// ---- the thesis's listing 5.1 ---------------------------------------------------------------------
struct Vector3 {
    float x = 0, y = 0, z = 0;
};
class ParticleSystem;
using uint64_t = unsigned long;

struct Particle {
    float age = 0;
    float max_age = 0;
    bool pending_kill = false;

    Vector3 position{};
    Vector3 rotation{};
    Vector3 scale{};

    Vector3 linear_velocity{};
    Vector3 angular_velocity{};

    Vector3 linear_force{};
    Vector3 torque{};

    int color = 0;
    int texture_handle = 0;

    ParticleSystem* parent = nullptr;
    void* user_ptr = nullptr;
    uint64_t flags = 0;
};

// ---- what types are made of -----------------------------------------------------------------------
namespace game {

struct careless {
    char a;
    double b;
    char c;
    double d;
    char e;
};

struct bits {
    unsigned low : 3;
    unsigned middle : 7;
    unsigned : 0;
    unsigned high : 5;
    char after;
};

struct shape {
    virtual ~shape() = default;
    virtual float area() const { return 0; }
    int id = 0;
};
struct circle : shape {
    char kind = 0;  // in the padding of shape
    float radius = 1;
};
struct left : virtual shape {
    int l = 0;
};
struct right : virtual shape {
    int r = 0;
};
struct both : left, right {
    int b = 0;
};

struct message {
    int kind;
    union {
        double number;
        struct {
            short small;
            int large;
        };
        char text[12];
    };
    bool urgent;
};
union word {
    int i;
    float f;
    char bytes[4];
};

struct empty {};
struct __attribute__((packed)) packed {
    char a;
    int b;
    short c;
};
struct alignas(64) aligned {
    int counter;
};
struct arrays {
    char name[13];
    float matrix[4][4];
    int (*call)(float, const char*);
    int shape::* field;
    const char* const text;
    int& target;
};
struct tail {
    int count;
    char kind;
    int values[];
};
struct owner {
    ~owner() { delete bytes; }
    char* bytes = nullptr;
};
struct with_owner {
    int a;
    owner o;
    int b;
};

template <class T, int N>
struct box {
    char tag;
    T values[N];
};

struct outer {
    struct inner;
    inner* p = nullptr;
    struct plain {
        char a;
        long b;
    };
    plain q{};
    static int counted;
    int own = 0;
};
struct outer::inner {
    char x;
    long y;
};
int outer::counted = 0;

namespace {
struct hidden {
    char a;
    int b;
};
}  // namespace

struct large {
    char begin;
    char bytes[1000];
    double end;
};

}  // namespace game

typedef struct {
    char a;
    int b;
} named_by_typedef;

// ---- used, so that compilers describe them ----------------------------------------------------------
template <class T>
const void* volatile seen = nullptr;
template <class T>
void see(T& t) {
    seen<T> = &t;
}

int layout_subjects(int argc) {
    struct local {
        char a;
        int b;
    };
    Particle particle;
    game::careless careless{};
    game::bits bits{};
    game::circle circle;
    game::both both;
    game::message message{};
    game::word word{};
    game::empty empty;
    game::packed packed{};
    game::aligned aligned{};
    game::arrays arrays{{}, {}, nullptr, nullptr, nullptr, argc};
    game::tail tail{};
    game::with_owner with_owner{};
    game::box<double, 3> doubles{};
    game::box<char, 5> chars{};
    game::outer outer;
    game::outer::inner inner{};
    game::hidden hidden{};
    game::large large{};
    named_by_typedef by_typedef{};
    local here{};
    see(particle), see(careless), see(bits), see(circle), see(both), see(message), see(word);
    see(empty), see(packed), see(aligned), see(arrays), see(tail), see(with_owner), see(doubles);
    see(chars), see(outer), see(inner), see(hidden), see(large), see(by_typedef), see(here);
    return argc + here.b;
}

#ifndef CAIRN_WITHOUT_MAIN
int main(int argc, char**) { return layout_subjects(argc) - argc; }
#endif
