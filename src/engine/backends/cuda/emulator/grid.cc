#include "engine/backends/cuda/emulator/grid.h"

#include <algorithm>
#include <array>
#include <bit>
#include <boost/context/fiber.hpp>
#include <cstring>
#include <exception>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#include "base/core/error.h"

namespace hone::emulate {
namespace {

namespace context = boost::context;

constexpr unsigned kLanes = 32, kMostThreads = 1024;
constexpr size_t kStackBytes = 128 << 10;

enum class State { fresh, running, ready, at_barrier, at_warp, done };

constexpr size_t kCopied = 16;
struct Copy {
  void* to;
  const void* from;
  size_t bytes;
};

struct Thread {
  Here here;
  unsigned number = 0;
  State state = State::fresh;
  unsigned mask = 0;            // at_warp: of the lanes that it waits for
  uint64_t given = 0, got = 0;  // in exchange()
  unsigned from = 0;
  size_t fiber = 0;  // whose stack it is on
  std::vector<Copy> copies = {};
  size_t committed = 0;  // of its copies
  unsigned lane() const { return number % kLanes; }
};

// Stacks begin at different places of their first page: those of a block that waits would else take
// the same few lines of the cache from each other.
constexpr size_t kStackPlaces = 61, kStackStep = 64;
context::stack_context new_stack(size_t number) {
  context::stack_context s = context::fixedsize_stack(kStackBytes).allocate();
  const size_t shift = number % kStackPlaces * kStackStep;
  s.sp = static_cast<std::byte*>(s.sp) - shift;
  s.size -= shift;  // to free it takes sp - size
  return s;
}

// Stacks of fibres that ended, for the next ones of this thread.
struct StackPool {
  ~StackPool() {
    for (context::stack_context& s : free) context::fixedsize_stack(kStackBytes).deallocate(s);
  }
  std::vector<context::stack_context> free;
  size_t made = 0;
};
StackPool& stacks() {
  static thread_local StackPool pool;
  return pool;
}
struct PooledStack {
  context::stack_context allocate() {
    std::vector<context::stack_context>& free = stacks().free;
    if (free.empty()) return new_stack(stacks().made++);
    const context::stack_context s = free.back();
    free.pop_back();
    return s;
  }
  void deallocate(context::stack_context& s) noexcept { stacks().free.push_back(s); }
};

// ThreadSanitizer has to know whose stack runs. Its fibres are kept for the next blocks: it is slow
// to free them.
#ifdef __SANITIZE_THREAD__
std::vector<void*>& watched_pool() {
  static thread_local std::vector<void*> pool;
  return pool;
}
void* take_watched() {
  std::vector<void*>& pool = watched_pool();
  if (pool.empty()) return __tsan_create_fiber(0);
  void* one = pool.back();
  pool.pop_back();
  return one;
}
void give_watched(void* one) { watched_pool().push_back(one); }
void* watched_now() { return __tsan_get_current_fiber(); }
void switch_watched(void* to) { __tsan_switch_to_fiber(to, 0); }
#else
void* take_watched() { return nullptr; }
void give_watched(void*) {}
void* watched_now() { return nullptr; }
void switch_watched(void*) {}
#endif

// A block of threads: fibres take fresh threads one after another, and a thread that waits keeps
// its fibre.
class Block {
 public:
  explicit Block(const Grid& grid, FunctionRef<void()> work) : grid_(grid), work_(work) {
    const uint64_t count = uint64_t{grid.block.x} * grid.block.y * grid.block.z;
    HONE_BUG_IF(count == 0 || count > kMostThreads, "a block of {} threads", count);
    threads_.resize(count);
    shared_.resize(static_cast<size_t>(grid.shared_bytes) + kAlignment);
    order_.resize(count);
    std::iota(order_.begin(), order_.end(), 0u);
    if (grid.order == Order::backward) std::reverse(order_.begin(), order_.end());
    if (grid.order == Order::shuffled) std::shuffle(order_.begin(), order_.end(), std::mt19937(7));
  }

  void run(Dim3 block) {
    block_ = block;
    next_ = done_ = at_barrier_ = 0;
    waiting_.fill(0);
    std::fill(shared_.begin(), shared_.end(), std::byte{0xab});  // it holds anything
    for (unsigned t = 0; t < threads_.size(); ++t) {
      threads_[t] = Thread{};
      threads_[t].number = t;
      const Dim3 b = grid_.block;
      threads_[t].here = {{t % b.x, t / b.x % b.y, t / b.x / b.y}, block, b, grid_.grid};
    }
    while (done_ < threads_.size()) {
      if (!step()) stuck();
      if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
    }
  }

  Thread& now() { return *now_; }
  std::byte* shared() {
    auto at = reinterpret_cast<uintptr_t>(shared_.data());
    return shared_.data() + (kAlignment - at % kAlignment) % kAlignment;
  }

  void wait_for_block() {
    if (++at_barrier_ < threads_.size()) return wait(State::at_barrier);
    at_barrier_ = 0;
    for (Thread& t : threads_)
      if (t.state == State::at_barrier) t.state = State::ready;
  }

  // The lane that comes last calls together(lanes of the warp, mask) before the others continue.
  template <class F>
  void wait_for_warp(unsigned mask, F together) {
    Thread& t = *now_;
    const unsigned first = t.number / kLanes * kLanes;
    const unsigned lanes =
        std::min<unsigned>(kLanes, static_cast<unsigned>(threads_.size()) - first);
    if (lanes < kLanes) mask &= (1u << lanes) - 1;
    HONE_BUG_IF((mask >> t.lane() & 1u) == 0, "lane {} is not in its own mask {:#x}", t.lane(),
                mask);
    t.mask = mask;
    unsigned& waiting = waiting_[first / kLanes];
    const unsigned others = mask & ~(1u << t.lane());
    if ((waiting & others) != others) {
      waiting |= 1u << t.lane();
      return wait(State::at_warp);
    }
    for (unsigned left = others; left != 0; left &= left - 1) {
      const Thread& other = threads_[first + static_cast<unsigned>(std::countr_zero(left))];
      HONE_BUG_IF(other.mask != mask, "lanes {} and {} of a warp wait with different masks",
                  other.lane(), t.lane());
    }
    together(&threads_[first], mask);
    waiting &= ~others;
    for (unsigned left = others; left != 0; left &= left - 1)
      threads_[first + static_cast<unsigned>(std::countr_zero(left))].state = State::ready;
  }

 private:
  static constexpr size_t kAlignment = 128;

  // Lets a thread run until it waits or is done; false: none can.
  bool step() {
    if (next_ < threads_.size()) {
      if (idle_.empty()) {
        idle_.push_back(fibers_.size());
        watched_.push_back(take_watched());
        fibers_.emplace_back(make_fiber(fibers_.size()));
      }
      const size_t fiber = idle_.back();
      idle_.pop_back();
      resume(fiber);
      return true;
    }
    bool any = false;
    for (const unsigned number : order_) {
      Thread& t = threads_[number];
      if (t.state != State::ready) continue;
      t.state = State::running;
      now_ = &t;
      resume(t.fiber);
      any = true;
      if (failed_) break;
    }
    return any;
  }

  void resume(size_t fiber) {
    context::fiber running = std::move(fibers_[fiber]);
    switch_watched(watched_[fiber]);
    fibers_[fiber] = std::move(running).resume();
    switch_watched(caller_watched_);
  }

  context::fiber make_fiber(size_t number) {
    return context::fiber(std::allocator_arg, PooledStack(),
                          [this, number](context::fiber&& caller) {
                            caller_of(number) = std::move(caller);
                            for (;;) {
                              take_threads(number);
                              idle_.push_back(number);
                              caller_of(number) = std::move(caller_of(number)).resume();
                              if (ends_) return std::move(caller_of(number));
                            }
                          });
  }

  // Fresh threads, until one was resumed elsewhere or none is left.
  void take_threads(size_t fiber) {
    while (next_ < threads_.size()) {
      Thread& t = threads_[order_[next_++]];
      t.state = State::running;
      t.fiber = fiber;
      now_ = &t;
      try {
        work_();
      } catch (...) {
        if (!failed_) failed_ = std::current_exception();
      }
      t.state = State::done;
      ++done_;
      if (failed_) return;
    }
  }

  void wait(State state) {
    Thread& t = *now_;
    t.state = state;
    caller_of(t.fiber) = std::move(caller_of(t.fiber)).resume();
    now_ = &t;
    if (ends_) throw Ended{};
  }

  void stuck() {
    const auto text = [](const Thread& t) {
      return t.state == State::at_barrier ? "waits at __syncthreads" : "waits for its warp";
    };
    const Thread *waits = nullptr, *left = nullptr;
    for (const Thread& t : threads_) (t.state == State::done ? left : waits) = &t;
    const std::string others =
        left ? fmt::format("thread {} has left", left->number) : "others wait elsewhere";
    HONE_BUG_IF(true, "block ({}, {}, {}): thread {} {}, and {}", block_.x, block_.y, block_.z,
                waits->number, text(*waits), others);
  }

  context::fiber& caller_of(size_t fiber) {
    if (callers_.size() <= fiber) callers_.resize(fiber + 1);
    return callers_[fiber];
  }

 public:
  struct Ended {};  // unwinds what still waits when a block has gone wrong
  ~Block() {
    ends_ = true;
    for (size_t i = 0; i < fibers_.size(); ++i)
      while (fibers_[i]) resume(i);
    for (void* one : watched_) give_watched(one);
  }

 private:
  const Grid& grid_;
  FunctionRef<void()> work_;
  Dim3 block_;
  std::vector<Thread> threads_;
  std::vector<std::byte> shared_;
  std::array<unsigned, kMostThreads / kLanes> waiting_{};  // lanes at_warp, by warp
  std::vector<unsigned> order_;                            // in which threads begin and continue
  std::vector<context::fiber> fibers_, callers_;
  std::vector<void*> watched_;  // by fibre
  void* const caller_watched_ = watched_now();
  std::vector<size_t> idle_;
  size_t next_ = 0, done_ = 0, at_barrier_ = 0;
  Thread* now_ = nullptr;
  bool ends_ = false;
  std::exception_ptr failed_;
};

thread_local Block* block_now = nullptr;

std::map<std::string, Function>& functions() {
  static std::map<std::string, Function> all;
  return all;
}

}  // namespace

void run_grid(const Grid& grid, FunctionRef<void()> thread) {
  HONE_BUG_IF(block_now != nullptr, "a kernel launches a kernel");
  Block block(grid, thread);
  struct Reset {
    ~Reset() { block_now = nullptr; }
  } reset;
  block_now = &block;
  for (unsigned z = 0; z < grid.grid.z; ++z)
    for (unsigned y = 0; y < grid.grid.y; ++y)
      for (unsigned x = 0; x < grid.grid.x; ++x) block.run({x, y, z});
}

const Here& here() { return block_now->now().here; }
std::byte* shared_bytes() { return block_now->shared(); }
void sync_threads() { block_now->wait_for_block(); }
void sync_warp(unsigned mask) {
  block_now->wait_for_warp(mask, [](Thread*, unsigned) {});
}
unsigned lane_of_here() { return block_now->now().lane(); }

// The last lane gives all lanes what they get, so that values need not be kept until all have read
// them.
uint64_t exchange(unsigned mask, uint64_t value, unsigned lane) {
  Thread& me = block_now->now();
  me.given = value;
  me.from = lane;
  block_now->wait_for_warp(mask, [](Thread* lanes, unsigned those) {
    for (unsigned left = those; left != 0; left &= left - 1) {
      Thread& t = lanes[std::countr_zero(left)];
      t.got = (those >> t.from & 1u) != 0 ? lanes[t.from].given : t.given;
    }
  });
  return me.got;
}

unsigned ballot(unsigned mask, bool value) {
  Thread& me = block_now->now();
  me.given = value ? 1 : 0;
  block_now->wait_for_warp(mask, [](Thread* lanes, unsigned those) {
    unsigned all = 0;
    for (unsigned left = those; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      if (lanes[lane].given != 0) all |= 1u << lane;
    }
    for (unsigned left = those; left != 0; left &= left - 1)
      lanes[std::countr_zero(left)].got = all;
  });
  return static_cast<unsigned>(me.got);
}

void together(void* mine, FunctionRef<void(void* const* lanes)> all) {
  block_now->now().given = reinterpret_cast<uint64_t>(mine);
  block_now->wait_for_warp(~0u, [&](Thread* lanes, unsigned those) {
    HONE_BUG_IF(those != ~0u, "a warp of {} lanes computes a product", std::popcount(those));
    void* of[kLanes];
    for (unsigned lane = 0; lane < kLanes; ++lane)
      of[lane] = reinterpret_cast<void*>(lanes[lane].given);
    all(of);
  });
}

void copy_later(void* to, const void* from, int bytes) {
  for (const void* at : {static_cast<const void*>(to), from})
    HONE_BUG_IF(reinterpret_cast<uintptr_t>(at) % kCopied != 0,
                "an asynchronous copy from or to {}", at);
  std::memset(to, 0xab, kCopied);
  block_now->now().copies.push_back({to, from, static_cast<size_t>(bytes)});
}
void commit_copies() {
  Thread& t = block_now->now();
  t.committed = t.copies.size();
}
void finish_copies() {
  Thread& t = block_now->now();
  for (size_t i = 0; i < t.committed; ++i) {
    const Copy& c = t.copies[i];
    std::memset(c.to, 0, kCopied);
    if (c.bytes > 0) std::memcpy(c.to, c.from, c.bytes);
  }
  t.copies.erase(t.copies.begin(), t.copies.begin() + static_cast<std::ptrdiff_t>(t.committed));
  t.committed = 0;
}

const Function* find_function(const std::string& name) {
  const auto found = functions().find(name);
  return found == functions().end() ? nullptr : &found->second;
}

bool add_function(const Function& function) {
  HONE_BUG_IF(!functions().try_emplace(function.name, function).second, "two kernels '{}'",
              function.name);
  return true;
}

}  // namespace hone::emulate
