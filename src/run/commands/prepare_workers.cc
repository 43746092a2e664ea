#include "run/commands/prepare_workers.h"

#include <signal.h>
#include <unistd.h>

#include "base/core/child.h"
#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/core/threads.h"
#include "learn/data/rows/count_text.h"
#include "learn/data/shards/work_estimate.h"
#include "learn/harness/budget/limits.h"

namespace hone {
namespace {

constexpr const char* kWorkerVariable = "HONE_PREPARE_WORKER";  // the process that started it

Result<Child> start_worker(const PrepareOnly& s, const std::vector<std::string>& args) {
  const int64_t threads = s.threads > 0 ? s.threads : ThreadPool::default_size();
  ChildSpec spec{.command = {"hone", "prepare"},
                 .program = "/proc/self/exe",
                 .environment = {{kWorkerVariable, std::to_string(::getpid())}},
                 .out = {ChildStream::kNull},
                 .err = {ChildStream::kNull},
                 .group = ChildSpec::kOwnGroup,
                 .death_signal = SIGTERM};
  spec.command.insert(spec.command.end(), args.begin(), args.end());
  spec.command.insert(spec.command.end(),
                      {"--overwrite_output_dir", "false", "--threads",
                       std::to_string(std::max<int64_t>(1, threads / s.workers))});
  return spawn(spec);
}

void stop_all(const std::vector<Child>& running) {
  for (const Child& child : running) ::kill(child.pid, SIGTERM);
}

}  // namespace

bool is_prepare_worker() { return environment(kWorkerVariable) == std::to_string(::getppid()); }

Status show_work(const PrepareOnly& s, const std::vector<TextPart>& parts,
                 const PrepareOptions& options, const SharedState& state, const SharedWork& work,
                 const Tokenize& tokenize) {
  const WorkEstimate e = HONE_TRY(estimate_work(parts, work.dedup, s.workers, tokenize));
  log_info(
      "{:<11} {} of {} in {}, {} of them done; about {} of shards and {} with the processes of "
      "this host",
      "work", count_of(state.items, "item"), format_bytes(e.source_bytes),
      count_of(e.files, "file"), grouped(shared_done(options.folder)),
      format_bytes(e.shard_bytes()), format_duration(e.seconds));
  const int64_t free_bytes = free_disk_bytes(options.folder);
  // Shuffled texts are spilled before they are shards, and Megatron-LM's files are written before these
  // are deleted.
  const int64_t needed =
      e.shard_bytes() * (1 + (s.output_format == "megatron" ? 1 : 0) + (s.shuffle_seed ? 1 : 0));
  if (needed > free_bytes)
    log_warning("'{}' has {} free, and about {} are needed", options.folder,
                format_bytes(free_bytes), format_bytes(needed));
  return Ok{};
}

Status run_workers(const PrepareOnly& s, const std::vector<std::string>& args,
                   const std::string& folder, int64_t items, const SharedWork& work) {
  std::vector<Child> running;
  for (int64_t i = 0; i < s.workers; ++i) {
    Result<Child> started = start_worker(s, args);
    if (started.ok())
      running.push_back(std::move(*started));
    else
      log_warning("a worker is not started, others do its items: {}", started.error().text());
  }
  std::optional<Error> failed;
  bool stopping = false;
  for (double shown = system_clock().seconds(); !running.empty();) {
    for (size_t i = 0; i < running.size();) {
      const std::optional<ChildEnd> end = child_ended(running[i].pid);
      if (!end) {
        ++i;
        continue;
      }
      const std::optional<Error> error = running[i].error();
      if (end->signal != 0 && !stopping)
        log_warning("worker {} was ended by signal {}: others do its item", running[i].pid,
                    end->signal);
      if (end->status != 0 && error && !failed) {
        failed = error;
        if (!error->is_transient()) stopping = true;
      }
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      if (stopping) stop_all(running);
    }
    if (stop_requested() && !stopping) {
      stopping = true;
      stop_all(running);
    }
    system_clock().sleep(0.05);
    if (system_clock().seconds() - shown < 2 || stopping) continue;
    shown = system_clock().seconds();
    if (const int64_t done = shared_done(folder); done > 0) work.progress(done, items);
  }
  if (failed && !failed->is_transient()) return std::move(*failed);
  return Ok{};
}

}  // namespace hone
