#include "operate/launch/restarts.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/core/hash.h"
#include "base/core/log.h"
#include "base/core/process_id.h"
#include "base/core/redact.h"
#include "base/core/signals.h"
#include "operate/launch/errors.h"

namespace hone {
namespace {

constexpr double kFirstPause = 0.5, kLongestPause = 60;
constexpr int kBugStatus = 3;  // of a rank that ended by a bug

// The last step that a rank of this membership has done.
int64_t last_step(const ControlServer& server, int ranks) {
  int64_t step = -1;
  for (int rank = 0; rank < ranks; ++rank) step = std::max(step, server.progress(rank).step);
  return step;
}

// Counts the restarts of a run.
class RestartCount {
 public:
  explicit RestartCount(int most) : most_(most) {}
  double pause_s() const { return pause_s_; }

  // Whether the ranks start again after this end, at which they had done `step`. Says why.
  bool allows(const LaunchEnd& end, int64_t step) {
    if (!is_crash(end) || most_ == 0) return false;
    if (restarts_ == most_) {
      log_error("the run has crashed {} times: it is not started again (--max_restarts)",
                restarts_ + 1);
      return false;
    }
    ++restarts_;
    pause_s_ = step > best_step_ ? 0 : std::clamp(2 * pause_s_, kFirstPause, kLongestPause);
    best_step_ = std::max(best_step_, step);
    log_warning("{}: restart {} of {}{}", redact_text(end.failure->sentence()), restarts_, most_,
                pause_s_ > 0 ? fmt::format(" in {:.1f} s", pause_s_) : "");
    return true;
  }

 private:
  int most_, restarts_ = 0;
  int64_t best_step_ = -1;
  double pause_s_ = 0;
};

// False when a stop was requested meanwhile.
bool pause_before_restart(double seconds, Clock& clock) {
  for (const double end = clock.seconds() + seconds; clock.seconds() < end && !stop_requested();)
    clock.sleep(0.02);
  return !stop_requested();
}

// Containers may share the memory, and have process numbers of their own.
std::string memory_prefix() { return fmt::format("hone-run-{:016x}-", fnv1a(process_space())); }

// Removes the folders of launchers that were killed.
void remove_old_memory(const std::string& parent, const std::string& prefix) {
  std::error_code unknown;
  for (const auto& entry : std::filesystem::directory_iterator(parent, unknown)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const std::string_view number = std::string_view(name).substr(prefix.size());
    pid_t pid = 0;
    std::from_chars(number.data(), number.data() + number.size(), pid);
    if (pid > 0 && stat_fields(pid).empty()) std::filesystem::remove_all(entry.path(), unknown);
  }
}

}  // namespace

bool is_crash(const LaunchEnd& end) {
  return end.failure && (end.failure->error.is_transient() || end.status == kBugStatus ||
                         end.failure->error.is(err::kRankEnded));
}

Result<LaunchEnd> run_restarts(LaunchRequest request, ControlServer& server,
                               const RestartPlan& plan, Clock& clock) {
  request.full_ranks = std::max(request.full_ranks, request.ranks);
  if (plan.gather && plan.first_too) {
    HONE_TRY(plan.gather(request));
    if (stop_requested()) return LaunchEnd{128 + stop_signal()};
    server.begin_epoch(request.ranks);
    request.epoch = server.epoch();
  }
  RestartCount count(request.max_restarts);
  for (;;) {
    if (plan.begun) plan.begun(request);
    LaunchEnd end = HONE_TRY(run_group(HONE_TRY(plan.children(request)), &server, plan.group));
    if (plan.ended) plan.ended(end);
    if (end.regroups)
      log_info("a machine has come: all ranks start again with it");
    else if (stop_requested() || !count.allows(end, last_step(server, request.ranks)))
      return end;
    if (!pause_before_restart(end.regroups ? 0 : count.pause_s(), clock)) return end;
    if (plan.gather) HONE_TRY(plan.gather(request));
    if (stop_requested()) return end;
    if (request.ranks < request.full_ranks)
      log_warning("{} of {} ranks continue the run: the rows of a step stay the same",
                  request.ranks, request.full_ranks);
    server.begin_epoch(request.ranks);
    request.epoch = server.epoch();
  }
}

RunMemory::RunMemory(const std::string& parent) {
  const std::string prefix = memory_prefix();
  remove_old_memory(parent, prefix);
  std::string made = fmt::format("{}/{}{}-XXXXXX", parent, prefix, ::getpid());
  if (::mkdtemp(made.data()) != nullptr)
    path_ = made;
  else
    log_warning("no copies of the run in memory: {} takes no folder: {}", parent,
                std::strerror(errno));
}

RunMemory::~RunMemory() {
  std::error_code unknown;
  if (!path_.empty()) std::filesystem::remove_all(path_, unknown);
}

}  // namespace hone
