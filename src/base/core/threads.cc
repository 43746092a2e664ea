#include "base/core/threads.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/core/cgroup.h"
#include "base/core/clock.h"
#include "base/core/error.h"
#include "base/core/interruptions.h"
#include "base/core/system_files.h"
#include "base/core/text.h"

namespace hone {
namespace {

using Spans = std::vector<std::vector<ThreadSpan>>;

thread_local int this_thread = 0;              // number of the calling thread in its pool
thread_local const void* this_pool = nullptr;  // in whose function the calling thread is

// Records its own lifetime, when asked to.
class Recorded {
 public:
  Recorded(Spans* spans, int thread, bool waiting)
      : spans_(spans),
        thread_(thread),
        waiting_(waiting),
        begin_(spans ? system_clock().seconds() : 0) {}
  ~Recorded() {
    if (spans_)
      (*spans_)[static_cast<size_t>(thread_)].push_back(
          {begin_, system_clock().seconds(), waiting_});
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;

 private:
  Spans* spans_;
  int thread_;
  bool waiting_;
  double begin_;
};

constexpr int kMostThreads = 1024;      // of a setting too (base/settings/threads.def)
constexpr double kSpinSeconds = 50e-6;  // for the next call
// For the others of a call or barrier: they are at work and come soon, and a thread that sleeps
// meanwhile loses its core to another process. Not when the pool has more threads than cores.
constexpr double kSpinInsideSeconds = 2e-3;

// If waits take longer for more than a tenth of the time and threads lose their cores to other processes meanwhile, this
// many waits sleep at once: a thread that spins keeps the core that the others need. The number doubles while that
// continues. A single long wait tells nothing: a virtual machine itself loses its cores now and then.
constexpr int kFewSleeps = 256, kMostSleeps = 1 << 14;
constexpr double kTooLongOften = 0.1;

inline void pause_cpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until value != old, for at most `spin_s`, then sleeps until it is notified: false.
template <class T>
bool wait_for_change(std::atomic<T>& value, T old, double spin_s) {
  const double end = system_clock().seconds() + spin_s;
  do {
    for (int i = 0; i < 64; ++i) {
      if (value.load(std::memory_order_acquire) != old) return true;
      pause_cpu();
    }
  } while (system_clock().seconds() < end);
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
  return false;
}

// Whether threads that wait for each other spin, which depends on whether other processes use the cores.
class Patience {
 public:
  explicit Patience(double spin_s) : spin_s_(spin_s), interrupted_(times_interrupted()) {}

  template <class T>
  void wait(std::atomic<T>& value, T old) {
    if (sleeps_.load(std::memory_order_relaxed) > 0) {
      const int left = sleeps_.fetch_sub(1, std::memory_order_relaxed);
      wait_for_change(value, old, 0);
      if (left == 1) spinning_since_.store(system_clock().seconds(), std::memory_order_relaxed);
    } else if (!wait_for_change(value, old, spin_s_) && spin_s_ > 0) {
      too_long();
    }
  }

 private:
  void too_long() {
    const int64_t interrupted = times_interrupted();
    const double now = system_clock().seconds();
    const double spinning_s = now - spinning_since_.exchange(now, std::memory_order_relaxed);
    const bool busy = interrupted > interrupted_.exchange(interrupted, std::memory_order_relaxed) &&
                      spinning_s * kTooLongOften < spin_s_;
    const int next = next_.load(std::memory_order_relaxed);
    next_.store(busy ? std::min(2 * next, kMostSleeps) : kFewSleeps, std::memory_order_relaxed);
    if (busy) sleeps_.store(next, std::memory_order_relaxed);
  }

  double spin_s_;
  std::atomic<int64_t> interrupted_;
  std::atomic<double> spinning_since_{0};  // without a wait that took too long
  std::atomic<int> sleeps_{0}, next_{kFewSleeps};
};

// Asks for a core soon rather than for long (Linux 6.12 and later; others ignore it): threads that meet at a barrier
// every few microseconds would else wait for each other while another process uses up its slice of 3 ms.
void ask_for_short_slices() {
  // The first form of sched_attr (sched_setattr(2)); <linux/sched/types.h> cannot be read beside <sched.h>.
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes{};
  static_assert(sizeof attributes == 48);
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;
  attributes.runtime = 100'000;  // ns, the least that Linux takes
  (void)::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

// Processors, hyper-threads too, that this process may use.
int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0
             ? CPU_COUNT(&set)
             : static_cast<int>(std::thread::hardware_concurrency());
}

bool waits_asleep() {
  const char* const policy = std::getenv("OMP_WAIT_POLICY");
  return policy && to_lower(policy) == "passive";
}

}  // namespace

struct ThreadPool::Shared {
  // Written by the caller before `round` changes, read by workers after they saw the change.
  const FunctionRef<void(int)>* fn = nullptr;
  Spans* spans = nullptr;
  alignas(64) std::atomic<uint32_t> round{0};
  alignas(64) std::atomic<int> running{0};
  alignas(64) std::atomic<int> arrived{0};
  alignas(64) std::atomic<uint32_t> barrier_round{0};
  double spin_s = kSpinSeconds;
  std::optional<Patience> inside;
  std::atomic<bool> stop{false};
  std::mutex turn;  // of a caller
  std::mutex error_mutex;
  std::exception_ptr error;
  int error_thread = 0;
  std::vector<std::thread> threads;
  // Decides who does part t of a round: the worker, or the caller once it is done with its own part
  // and the worker has not started (asleep, or its core is busy with another process). Holds the
  // last started round, by part.
  struct alignas(64) Begun {
    std::atomic<uint32_t> round{0};
  };
  std::vector<Begun> begun;

  // Whether the calling thread is the one that does this part. After a success the round continues
  // until the part is finished, so `fn` is that round's.
  bool begin(int part, uint32_t now) {
    std::atomic<uint32_t>& last = begun[static_cast<size_t>(part)].round;
    uint32_t before = last.load(std::memory_order_relaxed);
    return static_cast<int32_t>(now - before) > 0 &&
           last.compare_exchange_strong(before, now, std::memory_order_acq_rel);
  }
};

Range thread_range(int64_t count, int thread, int threads) {
  const int64_t each = count / threads, extra = count % threads;
  const int64_t begin = thread * each + std::min<int64_t>(thread, extra);
  return {begin, begin + each + (thread < extra ? 1 : 0)};
}

ThreadPool::ThreadPool(int threads) : size_(std::max(1, threads)), shared_(new Shared) {
  if (waits_asleep()) shared_->spin_s = 0;
  shared_->inside.emplace(waits_asleep()                 ? 0
                          : size_ <= usable_processors() ? kSpinInsideSeconds
                                                         : kSpinSeconds);
  shared_->begun = std::vector<Shared::Begun>(static_cast<size_t>(size_));
  shared_->threads.reserve(size_ - 1);
  if (size_ > 1) ask_for_short_slices();  // of the caller; the workers inherit it
  for (int t = 1; t < size_; ++t) shared_->threads.emplace_back([this, t] { work(t); });
}

ThreadPool::~ThreadPool() {
  shared_->stop.store(true, std::memory_order_relaxed);
  shared_->round.fetch_add(1, std::memory_order_release);
  shared_->round.notify_all();
  for (auto& t : shared_->threads) t.join();
}

void ThreadPool::record_into(std::vector<std::vector<ThreadSpan>>* spans) {
  HONE_BUG_IF(spans && static_cast<int>(spans->size()) != size_, "spans of {} threads, not {}",
              spans->size(), size_);
  shared_->spans = spans;
}

void ThreadPool::call(FunctionRef<void(int)> fn, int thread) {
  const Recorded recorded(shared_->spans, thread, false);
  const int outer = std::exchange(this_thread, thread);  // a pool may be inside another's thread
  const void* const outer_pool = std::exchange(this_pool, shared_.get());
  try {
    fn(thread);
  } catch (...) {
    std::lock_guard lock(shared_->error_mutex);
    if (!shared_->error || thread < shared_->error_thread) {
      shared_->error = std::current_exception();
      shared_->error_thread = thread;
    }
  }
  this_thread = outer;
  this_pool = outer_pool;
}

void ThreadPool::work(int thread) {
  Shared& s = *shared_;
  uint32_t seen = 0;
  for (;;) {
    wait_for_change(s.round, seen, s.spin_s);
    seen = s.round.load(std::memory_order_acquire);
    if (s.stop.load(std::memory_order_relaxed)) return;
    if (!s.begin(thread, seen)) continue;
    call(*s.fn, thread);
    if (s.running.fetch_sub(1, std::memory_order_acq_rel) == 1) s.running.notify_one();
  }
}

void ThreadPool::run(FunctionRef<void(int)> fn) {
  Shared& s = *shared_;
  HONE_BUG_IF(this_pool == &s, "ThreadPool::run called from inside a running function");
  const std::lock_guard turn(s.turn);
  if (size_ > 1) {
    s.fn = &fn;
    s.running.store(size_ - 1, std::memory_order_relaxed);
    const uint32_t now = s.round.fetch_add(1, std::memory_order_release) + 1;
    s.round.notify_all();
    call(fn, 0);
    // In a function with a barrier all parts have started before part 0 returns.
    for (int part = 1; part < size_; ++part)
      if (s.begin(part, now)) {
        call(fn, part);
        s.running.fetch_sub(1, std::memory_order_acq_rel);
      }
  } else {
    call(fn, 0);
  }
  if (s.running.load(std::memory_order_acquire) != 0) {
    const Recorded recorded(s.spans, 0, true);
    for (int left; (left = s.running.load(std::memory_order_acquire)) != 0;)
      s.inside->wait(s.running, left);
  }
  std::exception_ptr error;
  if (s.error) {
    error = s.error;
    s.error = nullptr;
  }
  if (error) std::rethrow_exception(error);
}

void ThreadPool::parallel_for(int64_t count, FunctionRef<void(int64_t, int64_t, int)> fn) {
  run([&](int thread) {
    const Range r = thread_range(count, thread, size_);
    if (r.begin < r.end) fn(r.begin, r.end, thread);
  });
}

void ThreadPool::barrier() {
  if (size_ == 1) return;
  Shared& s = *shared_;
  const Recorded recorded(s.spans, this_thread, true);
  const uint32_t round = s.barrier_round.load(std::memory_order_acquire);
  if (s.arrived.fetch_add(1, std::memory_order_acq_rel) == size_ - 1) {
    s.arrived.store(0, std::memory_order_relaxed);
    s.barrier_round.fetch_add(1, std::memory_order_release);
    s.barrier_round.notify_all();
  } else {
    s.inside->wait(s.barrier_round, round);
  }
}

int ThreadPool::default_size() {
  if (const char* const wanted = std::getenv("OMP_NUM_THREADS"))
    if (const int count = std::atoi(wanted); count >= 1) return std::min(count, kMostThreads);
  return usable_cores();
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cores = static_cast<int>(std::thread::hardware_concurrency());
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    std::set<std::string> physical;  // hyper-threads of one core have the same pair
    for (int c = 0; c < CPU_SETSIZE; ++c) {
      if (!CPU_ISSET(c, &set)) continue;
      const std::string dir = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", c);
      const std::string core = first_line(dir + "core_id");
      physical.insert(core.empty() ? fmt::format("cpu {}", c)
                                   : first_line(dir + "physical_package_id") + "/" +
                                         first_line(dir + "die_id") + "/" + core);
    }
    cores = static_cast<int>(physical.size());
  }
  if (const std::optional<double> quota = read_cgroup().cpus)
    cores = std::min(cores, static_cast<int>(*quota + 0.5));
  return std::max(1, cores);
}

}  // namespace hone
