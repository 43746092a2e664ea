#include "operate/launch/local_ranks.h"

#include <algorithm>

#include "base/core/process.h"
#include "base/core/text.h"
#include "base/core/threads.h"
#include "operate/launch/cores.h"
#include "operate/launch/errors.h"
#include "operate/launch/gpus.h"
#include "operate/launch/remote.h"

namespace hone {
namespace {

constexpr const char* kThreadsVariable = "OMP_NUM_THREADS";
constexpr const char* kGpusVariable = "CUDA_VISIBLE_DEVICES";

std::string place_text(const CoreShare& share, const std::string& threads, const std::string& gpu) {
  const std::string processors =
      share.processors.empty() ? "all processors" : "processors " + number_list(share.processors);
  return fmt::format("{}, {} thread{}{}", processors, threads, threads == "1" ? "" : "s",
                     gpu.empty() ? "" : ", GPU " + gpu);
}

}  // namespace

Result<std::vector<RankChild>> local_ranks(const LaunchRequest& r, int control_port) {
  if (r.local_ranks < 1 || r.first_rank < 0 || r.first_rank + r.local_ranks > r.ranks)
    return Error(err::kLaunchRequest,
                 fmt::format("ranks {} to {} are not among {} ranks", r.first_rank,
                             r.first_rank + r.local_ranks - 1, r.ranks))
        .todo("start as many processes in all as all hosts together start");
  const std::vector<std::string> gpus =
      HONE_TRY(share_gpus(visible_devices(), gpu_uuids(), r.local_ranks, r.wants_gpus));
  const std::vector<CoreShare> cores =
      share_cores(usable_core_processors(), usable_cores(), r.local_ranks);
  const bool served_here = r.serves && r.local_ranks == r.ranks;  // for this host alone
  std::vector<RankChild> children;
  for (int i = 0; i < r.local_ranks; ++i) {
    const World world{.rank = r.first_rank + i,
                      .ranks = r.ranks,
                      .local_rank = i,
                      .local_ranks = r.local_ranks,
                      .host = host_name(),
                      .epoch = r.epoch,
                      .full_ranks = std::max(r.full_ranks, r.ranks),
                      .address = served_here ? "127.0.0.1" : r.address,
                      .port = control_port,
                      .served = true};
    const CoreShare& share = cores[static_cast<size_t>(i)];
    RankChild child{.name = fmt::format("rank {}", world.rank),
                    .rank = world.rank,
                    .host = world.host,
                    .spec = {.command = r.command, .program = r.program},
                    .has_prefix = world.rank != 0};
    child.spec.environment = world_variables(world);
    child.spec.environment.merge(run_variables(r));
    child.spec.environment[kTokenOfRanks] = r.token;
    std::string threads = environment(kThreadsVariable);
    if (threads.empty())
      threads = child.spec.environment[kThreadsVariable] = std::to_string(share.threads);
    const std::string gpu = gpus.empty() ? "" : gpus[static_cast<size_t>(i)];
    if (!gpu.empty()) child.spec.environment[kGpusVariable] = gpu;
    child.place = place_text(share, threads, gpu);
    const bool is_near = memory_nodes_near(share.processors).size() == 1;  // all its processors
    child.spec.before_start = [processors = share.processors, is_near](std::span<const int>) {
      if (is_near) use_near_memory();
      return use_processors(processors);
    };
    children.push_back(std::move(child));
  }
  return children;
}

std::string rank_line(const RankChild& child) {
  return fmt::format("{}: {}", child.name, child.place);
}

std::string command_text(const RankChild& child) {
  std::string text;
  for (const auto& [name, value] : child.spec.environment)
    if (name != kTokenOfRanks) text += fmt::format("{}={} ", name, shell_word(value));
  return text + shell_line(child.spec.command);
}

std::string number_list(const std::vector<int>& numbers) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    parts.push_back(end - i > 1 ? fmt::format("{}-{}", numbers[i], numbers[end - 1])
                                : std::to_string(numbers[i]));
    i = end;
  }
  return join(parts, ",");
}

}  // namespace hone
