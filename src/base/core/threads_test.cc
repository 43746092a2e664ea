#include "base/core/threads.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/core/error.h"

namespace hone {
namespace {

TEST(Threads, EveryThreadRunsOnceAndTheCallerWaits) {
  for (int n : {1, 2, 3, 8}) {
    ThreadPool pool(n);
    ASSERT_EQ(pool.size(), n);
    std::vector<int> calls(n, 0);
    for (int i = 0; i < 500; ++i) pool.run([&](int t) { ++calls[t]; });
    for (int c : calls) EXPECT_EQ(c, 500);
  }
}

// In nanoseconds; 0: the kernel does not tell.
int64_t slice_of_this_thread() {
  std::ifstream file("/proc/thread-self/sched");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("se.slice")) return std::stoll(line.substr(line.find(':') + 1));
  return 0;
}

TEST(Threads, AskForShortSlices) {
  utsname kernel{};
  ASSERT_EQ(uname(&kernel), 0);
  int major = 0, minor = 0;
  ASSERT_EQ(std::sscanf(kernel.release, "%d.%d", &major, &minor), 2);
  if (std::pair(major, minor) < std::pair(6, 12) || slice_of_this_thread() == 0)
    GTEST_SKIP() << "Linux " << kernel.release << " tells no slices of threads";
  std::vector<int64_t> slices(3);
  std::thread([&] {
    ThreadPool pool(3);
    pool.run([&](int t) {
      slices[static_cast<size_t>(t)] = slice_of_this_thread();
      pool.barrier();
    });
  }).join();
  EXPECT_EQ(slices, std::vector<int64_t>(3, 100'000));
}

TEST(Threads, RecordsWhatEachThreadDoes) {
  ThreadPool pool(3);
  std::vector<std::vector<ThreadSpan>> spans(3);
  pool.record_into(&spans);
  std::atomic<int> arrived = 0;
  pool.run([&](int thread) {
    ++arrived;
    while (thread == 1 && arrived < 3) std::this_thread::yield();
    if (thread == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pool.barrier();
  });
  pool.record_into(nullptr);
  pool.run([&](int) {});
  for (const auto& of_thread : spans) {
    ASSERT_GE(of_thread.size(), 2u);
    double wait = 0, work = 0;
    for (const ThreadSpan& s : of_thread) (s.waiting ? wait : work) += s.end - s.begin;
    EXPECT_GE(work, 0.02 - 0.01);
    const double least = &of_thread == &spans[1] ? -1 : 0.01;
    EXPECT_GT(wait, least);
  }
}

TEST(Threads, RangesCoverEverythingOnce) {
  for (int n : {1, 3, 7})
    for (int64_t count : {0, 1, 2, 6, 7, 8, 1000}) {
      int64_t at = 0;
      for (int t = 0; t < n; ++t) {
        const Range r = thread_range(count, t, n);
        EXPECT_EQ(r.begin, at);
        EXPECT_LE(r.end - r.begin, count / n + 1);
        at = r.end;
      }
      EXPECT_EQ(at, count);
    }
}

TEST(Threads, ParallelForSums) {
  ThreadPool pool(4);
  std::vector<int64_t> data(1001), part(4, 0);
  std::iota(data.begin(), data.end(), 0);
  pool.parallel_for(1001, [&](int64_t b, int64_t e, int t) {
    for (int64_t i = b; i < e; ++i) part[t] += data[i];
  });
  EXPECT_EQ(part[0] + part[1] + part[2] + part[3], 1000 * 1001 / 2);
}

TEST(Threads, BarrierSeparatesPhases) {
  ThreadPool pool(3);
  std::vector<int> value(3, 0);
  bool equal[3] = {true, true, true};
  pool.run([&](int t) {
    for (int i = 1; i <= 200; ++i) {
      value[t] = i;
      pool.barrier();
      for (int v : value) equal[t] = equal[t] && v == i;
      pool.barrier();
    }
  });
  EXPECT_TRUE(equal[0] && equal[1] && equal[2]);
}

TEST(Threads, WakesAfterSleep) {
  ThreadPool pool(2);
  int calls[2] = {0, 0};
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    pool.run([&](int t) { ++calls[t]; });
  }
  EXPECT_EQ(calls[0] + calls[1], 6);
}

TEST(Threads, NestedCallIsABugAndThePoolSurvives) {
  ThreadPool pool(2);
  EXPECT_THROW(pool.run([&](int t) {
    if (t == 1) pool.run([](int) {});
  }),
               Bug);
  int calls[2] = {0, 0};
  pool.run([&](int t) { ++calls[t]; });
  EXPECT_EQ(calls[0] + calls[1], 2);
}

TEST(Threads, DefaultSizeIsThatOfTheEnvironmentElseTheUsableCores) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), static_cast<int>(std::thread::hardware_concurrency()));
  const char* const before = std::getenv("OMP_NUM_THREADS");
  const std::string kept = before ? before : "";
  for (const auto& [wanted, size] : std::map<std::string, int>{
           {"3", 3}, {"4,2", 4}, {"9999", 1024}, {"0", usable_cores()}, {"all", usable_cores()}}) {
    ::setenv("OMP_NUM_THREADS", wanted.c_str(), 1);
    EXPECT_EQ(ThreadPool::default_size(), size) << wanted;
  }
  ::unsetenv("OMP_NUM_THREADS");
  EXPECT_EQ(ThreadPool::default_size(), usable_cores());
  if (before) ::setenv("OMP_NUM_THREADS", kept.c_str(), 1);
}

TEST(Threads, ThreadsThatDoNotSpinAreWokenToo) {
  const char* const before = std::getenv("OMP_WAIT_POLICY");
  const std::string kept = before ? before : "";
  ::setenv("OMP_WAIT_POLICY", "PASSIVE", 1);
  ThreadPool pool(3);
  before ? ::setenv("OMP_WAIT_POLICY", kept.c_str(), 1) : ::unsetenv("OMP_WAIT_POLICY");
  std::vector<int> calls(3, 0);
  for (int i = 0; i < 200; ++i)
    pool.run([&](int t) {
      ++calls[static_cast<size_t>(t)];
      pool.barrier();
    });
  EXPECT_EQ(calls, (std::vector<int>{200, 200, 200}));
}

}  // namespace
}  // namespace hone
