#include "operate/launch/rank_group.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/ranks/errors.h"
#include "operate/launch/child_lines.h"
#include "operate/launch/errors.h"
#include "operate/launch/out_of_memory.h"

namespace hone {
namespace {

constexpr int kPollMs = 20;
constexpr double kOwnErrorSeconds = 0.5;  // for an error that a rank sent before it ended
constexpr double kHearSeconds = 3;  // for the control plane to decide which error was the first

// Statuses of a program that ended early because it was asked to, or because its time was up.
constexpr int kStopStatuses[] = {124, 128 + SIGINT, 128 + SIGTERM};

class RankGroup {
 public:
  RankGroup(std::vector<RankChild> children, ControlServer* server, const GroupOptions& options,
            Clock& clock)
      : children_(std::move(children)),
        server_(server),
        options_(options),
        clock_(clock),
        memory_(options.root) {}

  Status start();
  void wait();
  LaunchEnd end() const;

 private:
  struct Running {
    Child child = {};
    std::optional<ChildEnd> end = {};
  };
  static bool has_stopped(const Running& r) {
    return r.end->signal == 0 && !r.child.error() &&
           std::find(std::begin(kStopStatuses), std::end(kStopStatuses), r.end->status) !=
               std::end(kStopStatuses);
  }
  // Not if it ended because of our signal.
  bool has_failed(const Running& r) const {
    if (r.end->status == 0 || sent_ != 0 || has_stopped(r)) return false;
    const int asked = passed_on_ == 0 && regroups_ ? SIGTERM : passed_on_;
    return asked == 0 || r.child.error() || (r.end->signal != 0 && r.end->signal != asked);
  }
  void pump();
  void reap();
  void note_failure(size_t at);
  void send(int signal);
  void send_due_signals();
  Error error_of(const RankChild& child, const Running& running) const;

  std::vector<RankChild> children_;
  ControlServer* server_;
  GroupOptions options_;
  Clock& clock_;
  OutOfMemoryWatch memory_;
  std::vector<Running> running_;
  std::vector<std::unique_ptr<ChildLines>> lines_;
  std::vector<std::pair<size_t, RankFailure>> failures_;  // in the order in which they were seen
  double failed_at_ = 0;
  bool far_failure_ = false;
  bool regroups_ = false;            // all were asked to save and end
  std::optional<double> input_end_;  // time at which our standard input ended
  int passed_on_ = 0;                // signal of the user
  int sent_ = 0;                     // signal after a failure
};

Status RankGroup::start() {
  for (RankChild& c : children_) {
    const ChildStream pipe = {ChildStream::kPipe};
    c.spec.group = ChildSpec::kOwnGroup;
    c.spec.death_signal = SIGTERM;
    if (c.has_prefix) c.spec.out = c.spec.err = pipe;
    // Processes of other groups may not read a terminal.
    c.spec.in = c.input.empty() ? ChildStream{ChildStream::kNull} : pipe;
    Result<Child> child = spawn(c.spec);
    if (!child.ok()) {
      sent_ = SIGKILL;
      send(SIGKILL);
      wait();
      return std::move(child.error());
    }
    if (c.has_prefix) {
      const std::string prefix = c.name.empty() ? "" : fmt::format("[{}] ", c.name);
      lines_.push_back(std::make_unique<ChildLines>(std::move(child->out), STDOUT_FILENO, prefix));
      lines_.push_back(std::make_unique<ChildLines>(std::move(child->err), STDERR_FILENO, prefix));
    }
    if (child->in) {  // a few bytes, which the pipe holds
      (void)!::write(child->in.get(), c.input.data(), c.input.size());
      if (!c.is_far) child->in.close();
    }
    running_.push_back({std::move(*child)});
  }
  return Ok{};
}

void RankGroup::pump() {
  std::vector<pollfd> polled;
  for (const auto& lines : lines_) polled.push_back({lines->fd(), POLLIN, 0});
  const bool reads_input = options_.ends_with_input && !input_end_;
  if (reads_input) polled.push_back({STDIN_FILENO, POLLIN, 0});
  if (::poll(polled.data(), polled.size(), kPollMs) <= 0) return;
  char unused[256];
  if (reads_input && polled.back().revents != 0 && ::read(STDIN_FILENO, unused, sizeof unused) <= 0)
    input_end_ = clock_.seconds();
  for (size_t i = lines_.size(); i-- > 0;)
    if (polled[i].revents != 0 && !lines_[i]->copy())
      lines_.erase(lines_.begin() + static_cast<int64_t>(i));
}

Error RankGroup::error_of(const RankChild& child, const Running& running) const {
  if (std::optional<Error> error = running.child.error()) return std::move(*error);
  const auto [signal, status] = *running.end;
  const std::string name = rank_name(child.rank, child.host);
  if (signal == SIGKILL)
    if (const std::string memory = memory_.exhausted(); !memory.empty())
      return Error(err::kRankOutOfMemory,
                   fmt::format("{} was killed by the kernel: {} ran out", name, memory))
          .todo(
              "hone plan shows the memory of a rank; start fewer ranks on this host, or give it "
              "more");
  if (signal != 0)
    return Error(err::kRankEnded,
                 fmt::format("{} was ended by signal {} ({})", name, signal, ::strsignal(signal)))
        .todo("read its last lines, and the log of the kernel");
  return Error(err::kRankEnded, fmt::format("{} ended with status {}", name, status))
      .todo("read its last lines");
}

void RankGroup::note_failure(size_t at) {
  const RankChild& child = children_[at];
  RankFailure failure{child.rank, child.host, {}, error_of(child, running_[at]), false};
  failure.follows =
      child.is_far || failure.error.is(err::kRankFailed) || failure.error.is(err::kControlLost);
  if (server_ != nullptr) {
    // A rank that ended with a status may have sent its error to the control plane.
    const bool said_nothing = running_[at].end->signal == 0 && !running_[at].child.error();
    for (const double by = clock_.seconds() + kOwnErrorSeconds;
         said_nothing && !server_->first_failure() && clock_.seconds() < by;)
      clock_.sleep(0.01);
    failure.progress = server_->progress(child.rank);
    server_->fail(failure);
  } else if (options_.report) {
    options_.report(failure);
  }
  if (failures_.empty() && !far_failure_) failed_at_ = clock_.seconds();
  failures_.emplace_back(at, std::move(failure));
}

void RankGroup::reap() {
  for (size_t i = 0; i < running_.size(); ++i) {
    Running& r = running_[i];
    if (r.end || !(r.end = child_ended(r.child.pid))) continue;
    ::kill(-r.child.pid, SIGKILL);  // processes that it left in its group
    if (has_failed(r)) note_failure(i);
  }
}

void RankGroup::send(int signal) {
  for (size_t i = 0; i < running_.size(); ++i) {
    Running& r = running_[i];
    if (!r.end && (signal == SIGKILL || !children_[i].is_far))
      ::kill(signal == SIGKILL ? -r.child.pid : r.child.pid, signal);
    if (sent_ != 0) r.child.in.close();
  }
}

void RankGroup::send_due_signals() {
  if (stop_requested() && passed_on_ != stop_signal()) {
    passed_on_ = stop_signal();
    const bool any_far = std::any_of(children_.begin(), children_.end(),
                                     [](const RankChild& c) { return c.is_far; });
    if (any_far && server_ != nullptr) server_->stop(passed_on_);
    send(passed_on_);
  }
  if (!regroups_ && passed_on_ == 0 && failures_.empty() && options_.regroups &&
      options_.regroups()) {
    regroups_ = true;
    if (server_ != nullptr) server_->stop(SIGTERM);
    send(SIGTERM);
  }
  // A rank of another machine has failed: ours hear of it too, unless they do work of the host.
  if (failures_.empty() && !far_failure_ && server_ != nullptr && passed_on_ == 0 &&
      server_->first_failure()) {
    far_failure_ = true;
    failed_at_ = clock_.seconds();
  }
  if (failures_.empty() && !far_failure_ && !input_end_) return;
  const double since = clock_.seconds() - input_end_.value_or(failed_at_ + options_.follow_s);
  if (sent_ == 0 && since >= 0) send(sent_ = SIGTERM);
  if (sent_ == SIGTERM && since >= options_.kill_s) send(sent_ = SIGKILL);
}

void RankGroup::wait() {
  const auto runs = [](const Running& r) { return !r.end; };
  while (std::any_of(running_.begin(), running_.end(), runs)) {
    pump();
    reap();
    send_due_signals();
  }
  for (const auto& lines : lines_) (void)lines->copy();
}

LaunchEnd RankGroup::end() const {
  LaunchEnd end;
  for (const Running& r : running_)
    if (end.status == 0) end.status = r.end->status;
  if (failures_.empty()) {
    if (passed_on_ != 0 && end.status != 0) end.status = 128 + passed_on_;
    if (far_failure_ && end.status != 0) {
      end.failure = server_->first_failure();
      for (size_t i = 0; i < running_.size(); ++i)
        if (children_[i].rank == end.failure->rank && running_[i].end->status != 0)
          end.status = running_[i].end->status;
    }
    end.regroups = regroups_ && passed_on_ == 0 && end.status != 0 && !end.failure;
    return end;
  }
  const auto own = std::find_if(failures_.begin(), failures_.end(),
                                [](const auto& f) { return !f.second.follows; });
  const auto& first = own != failures_.end() ? *own : failures_.front();
  end.failure = first.second;
  end.status = running_[first.first].end->status;
  if (server_ == nullptr) return end;
  // A rank of another host may have failed before ours, or be the cause of what we saw.
  std::optional<RankFailure> heard = server_->first_failure();
  for (const double give_up = clock_.seconds() + kHearSeconds;
       own == failures_.end() && !heard && clock_.seconds() < give_up;
       heard = server_->first_failure())
    clock_.sleep(0.01);
  const bool is_vague = heard && heard->error.is(err::kRankLost);  // we may know more of that rank
  if (heard && !(is_vague && heard->rank == first.second.rank && !first.second.follows))
    end.failure = heard;
  for (const auto& [at, failure] : failures_)
    if (failure.rank == end.failure->rank) end.status = running_[at].end->status;
  return end;
}

}  // namespace

Result<LaunchEnd> run_group(std::vector<RankChild> children, ControlServer* server,
                            const GroupOptions& options, Clock& clock) {
  RankGroup group(std::move(children), server, options, clock);
  HONE_TRY(group.start());
  group.wait();
  return group.end();
}

}  // namespace hone
