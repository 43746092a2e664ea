#include "run/commands/rank_threads.h"

#include <algorithm>
#include <exception>
#include <thread>

#include "base/core/log.h"
#include "base/core/quiet_thread.h"
#include "base/core/threads.h"
#include "base/ranks/key_values.h"
#include "base/settings/errors.h"
#include "engine/backends/backends.h"
#include "engine/comm/errors.h"
#include "engine/comm/loopback.h"

namespace hone {
namespace {

// The threads of one run, with their ways to each other.
class RankThreads {
 public:
  explicit RankThreads(int count)
      : group_(count), results_(static_cast<size_t>(count), 0), thrown_(results_.size()) {}

  Result<std::shared_ptr<RunRanks>> open(const TaskSettings& s, int rank) {
    World world = HONE_TRY(read_world());
    world.rank = world.local_rank = rank;
    world.ranks = world.local_ranks = world.full_ranks = group_.ranks();
    auto ranks = std::make_shared<RunRanks>(world, messages_, group_.group(rank));
    const int threads =
        s.threads > 0 ? static_cast<int>(s.threads) : std::max(1, usable_cores() / group_.ranks());
    ranks->set_backend(HONE_TRY(open_backend(
        s.device_here(), {.threads = threads, .ordinal = rank, .ranks = group_.ranks()})));
    return ranks;
  }

  Result<int> run(std::vector<std::shared_ptr<RunRanks>> ranks,
                  const std::function<Result<int>(std::shared_ptr<RunRanks>)>& fn) {
    std::vector<std::thread> threads;
    for (size_t r = 0; r < ranks.size(); ++r)
      threads.emplace_back([&, r] {
        const QuietThread quiet(r > 0);
        try {
          results_[r] = fn(ranks[r]);
          if (!results_[r].ok()) end(static_cast<int>(r));
        } catch (...) {
          thrown_[r] = std::current_exception();
          end(static_cast<int>(r));
        }
        ranks[r]->take_backend().reset();
      });
    for (std::thread& t : threads) t.join();
    for (const std::exception_ptr& e : thrown_)
      if (e) std::rethrow_exception(e);
    for (Result<int>& result : results_)
      if (!result.ok() && !follows(result.error())) return std::move(result);
    for (Result<int>& result : results_) HONE_TRY(std::move(result));
    return results_[0];
  }

 private:
  static bool follows(const Error& e) { return e.is(err::kPeerLost) || e.is(err::kCommStopped); }
  // The others do not wait for this rank.
  void end(int rank) {
    group_.group(rank).stop("its thread failed");
    messages_.end(Error(err::kPeerLost, fmt::format("rank {} has ended", rank)));
  }

  LoopbackWorld group_;
  LocalKeyValues messages_;
  std::vector<Result<int>> results_;
  std::vector<std::exception_ptr> thrown_;  // bugs
};

}  // namespace

Result<int> rank_threads_of(const TaskSettings& s) {
  const bool one_process = HONE_TRY(read_world()).is_alone();
  if (!one_process && s.tpu_num_cores <= 1) return 1;
  if (!one_process)
    return Error(err::kSettingConflict,
                 fmt::format(
                     "--tpu_num_cores {} makes ranks of one process, and this process is one of "
                     "several ranks",
                     s.tpu_num_cores))
        .at(fmt::format("--tpu_num_cores {}", s.tpu_num_cores))
        .todo("start the run without a launcher, or leave --tpu_num_cores out");
  return local_ranks_of(s.device_here(), static_cast<int>(s.tpu_num_cores));
}

Result<int> run_rank_threads(const TaskSettings& s, int count,
                             const std::function<Result<int>(std::shared_ptr<RunRanks>)>& run) {
  RankThreads threads(count);
  std::vector<std::shared_ptr<RunRanks>> ranks;
  for (int rank = 0; rank < count; ++rank) ranks.push_back(HONE_TRY(threads.open(s, rank)));
  log_info("{:<11} {} in this process, a device of {} each, ZeRO stage {}", "ranks", count,
           s.device_here(), s.zero_stage);
  return threads.run(std::move(ranks), run);
}

}  // namespace hone
