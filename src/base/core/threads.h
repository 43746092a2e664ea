// A pool of threads that execute one function together: the only source of parallelism on a CPU.
//
//   ThreadPool pool(4);
//   pool.run([&](int thread) { ... });                            // on threads 0..3, waits
//   pool.parallel_for(rows, [&](int64_t begin, int64_t end, int thread) { ... });
//
// The caller is thread 0. Partitions are static (they depend on count and size() only), so sums
// made per thread and added in thread order are the same bits in every run. Between two calls the
// workers spin for about 50 us, then sleep. Callers on several threads take turns; a call from inside
// a running function is a bug. An exception in a function is rethrown by run(), the lowest thread's first.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace hone {

// A reference to a callable that outlives the call: two pointers, no allocation.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
      FunctionRef(F&& f)  // NOLINT: implicit on purpose
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* o, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(o))(static_cast<Args>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, static_cast<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

// Items [begin, end) of `count` that thread `thread` of `threads` owns: contiguous, sizes differ
// by at most one, the longer ones first.
struct Range {
  int64_t begin, end;
};
Range thread_range(int64_t count, int thread, int threads);

// The work of a pool's thread from `begin` to `end`, in seconds of steady_clock.
struct ThreadSpan {
  double begin = 0, end = 0;
  bool waiting = false;  // for the other threads, inside a span of the same thread
};

// Physical cores that affinity and the cgroup's CPU quota leave to this process, at least 1.
int usable_cores();

// A thread that waits for others of its pool spins for a moment before it sleeps, unless
// OMP_WAIT_POLICY is "passive", or other processes use the cores.
class ThreadPool {
 public:
  explicit ThreadPool(int threads = default_size());  // at least 1
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return size_; }

  // fn(thread) on every thread; returns when all have returned.
  void run(FunctionRef<void(int)> fn);

  // fn(begin, end, thread) on the thread_range of each thread, called only for ranges not empty.
  void parallel_for(int64_t count, FunctionRef<void(int64_t, int64_t, int)> fn);

  // Inside run(): waits until every thread of the pool has come here. Every thread must come the
  // same number of times, so a function that uses it must not throw.
  void barrier();

  // Between calls: while set, thread t appends what it does to (*spans)[t] (size() entries).
  void record_into(std::vector<std::vector<ThreadSpan>>* spans);

  // The first number of OMP_NUM_THREADS (OpenMP 5.2, 21.1.2), else usable_cores().
  static int default_size();

 private:
  struct Shared;
  void work(int thread);
  void call(FunctionRef<void(int)> fn, int thread);

  int size_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace hone
