// A pool of threads that execute one function together. All kernels on a CPU use it for parallelism.
//
//   ThreadPool pool(4);
//   pool.run([&](int thread) { ... });                            // calls it for 0..3 and waits
//   pool.parallel_for(rows, [&](int64_t begin, int64_t end, int thread) { ... });
//
// Partitions are static: they depend on count and size() only. If a function makes one sum for each thread number and
// adds these sums in the order of the numbers, every run gives the same bits. Number 0 runs on the calling thread. If a
// worker has not started when the caller is done with number 0, the caller executes that worker's number too.
//
// Callers on several threads take turns; a call from inside a running function throws a Bug. If the function throws for
// some numbers, run() rethrows the exception of the lowest number.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace hone {

// A reference to a callable, without a copy or an allocation. The callable must outlive the FunctionRef.
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

// The items [begin, end).
struct Range {
  int64_t begin, end;
};
// The part of `count` items for thread number `thread` of `threads`. Parts are contiguous, in the order of
// the numbers; their sizes differ by at most one, and the larger parts come first.
Range thread_range(int64_t count, int thread, int threads);

// A time span in which a thread of a pool worked or waited, in seconds of Clock::seconds().
struct ThreadSpan {
  double begin = 0, end = 0;
  bool waiting = false;  // it waited for other threads of the pool; else it executed a function
};

// The number of physical cores that this process may use by its CPU affinity and its cgroup's quota, at least 1.
int usable_cores();

// A worker that waits for the next call, or for other threads of the pool, spins for a moment and then sleeps. It
// sleeps at once if OMP_WAIT_POLICY is "passive", or if other processes use the cores.
class ThreadPool {
 public:
  explicit ThreadPool(int threads = default_size());  // values below 1 mean 1
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return size_; }

  // Calls fn(thread) once for each number 0 .. size() - 1, in parallel. Returns when all calls have returned.
  void run(FunctionRef<void(int)> fn);

  // Calls fn(begin, end, thread) in parallel with the thread_range() of each number; empty ranges are skipped.
  void parallel_for(int64_t count, FunctionRef<void(int64_t, int64_t, int)> fn);

  // Waits until all size() calls of the running function have called barrier(). Call it only inside run(), and
  // equally often for every number. So a function that calls barrier() must not throw.
  void barrier();

  // Starts recording: each number t appends its spans to (*spans)[t]. `spans` has size() elements and belongs to
  // the caller. Null ends recording. Do not call it while a function runs.
  void record_into(std::vector<std::vector<ThreadSpan>>* spans);

  // The first number of OMP_NUM_THREADS (OpenMP 5.2, 21.1.2), at most 1024; else usable_cores().
  static int default_size();

 private:
  struct Shared;
  void work(int thread);
  void call(FunctionRef<void(int)> fn, int thread);

  int size_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace hone
