#include "operate/launch/machines.h"

#include <algorithm>
#include <set>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/process.h"
#include "base/core/signals.h"
#include "base/ranks/control_client.h"
#include "base/ranks/errors.h"
#include "operate/launch/local_ranks.h"
#include "operate/launch/remote.h"
#include "operate/launch/restarts.h"
#include "operate/launch/serve_ranks.h"

namespace hone {
namespace {

constexpr double kMeetSeconds = 0.02;
constexpr double kSayAfterSeconds = 3;  // of a wait for machines
constexpr double kConnectSeconds = 2;   // of one try, between two looks at a request to stop
constexpr double kReturnSeconds = 120;  // for a network to come back
constexpr double kSendSeconds = 0.3;    // for the last answers to leave

int other_slots(const std::vector<WaitingMachine>& waiting) {
  int slots = 0;
  for (const WaitingMachine& m : waiting) slots += m.request.slots;
  return slots;
}

// The machine that serves: waits for the others before each membership.
class MachineMeeting {
 public:
  explicit MachineMeeting(ControlServer& server) : server_(server) {}

  Status gather(LaunchRequest& r) {
    const double begin = system_clock().seconds();
    bool said = false;
    std::vector<WaitingMachine> waiting;
    while (!stop_requested()) {
      waiting = server_.waiting_machines();
      const double age = system_clock().seconds() - begin;
      const int here = static_cast<int>(waiting.size()) + 1;
      const bool is_enough = r.min_ranks > 0 && r.local_ranks + other_slots(waiting) >= r.min_ranks;
      if (here >= r.machines || (is_enough && age >= r.settle_s)) break;
      if (age >= r.rejoin_s)
        return Error(err::kRanksMissing, fmt::format("{} of {} machines are there after {}", here,
                                                     r.machines, format_duration(age)))
            .todo("start a launcher on each machine, with the same flags and HONE_RANKS_TOKEN");
      if (!said && age >= kSayAfterSeconds)
        log_info("{} of {} machines are there: waits for the others", here, r.machines);
      said = said || age >= kSayAfterSeconds;
      system_clock().sleep(kMeetSeconds);
    }
    if (std::ssize(waiting) >= r.machines) waiting.resize(static_cast<size_t>(r.machines) - 1);
    places_ = places_of(waiting, r);
    if (std::ssize(waiting) + 1 == r.machines) r.full_ranks = r.ranks;
    return Ok{};
  }

  void begun(const LaunchRequest& r) {
    for (MachinePlace& p : places_) {
      p.epoch = r.epoch;
      p.ranks = r.ranks;
      p.full_ranks = r.full_ranks;
    }
    server_.place_machines(places_);
  }

  // Whether a machine has come that has no ranks in this membership.
  bool has_new_machine(int machines) const {
    if (std::ssize(places_) + 1 >= machines) return false;
    for (const WaitingMachine& m : server_.waiting_machines())
      if (std::none_of(places_.begin(), places_.end(),
                       [&](const MachinePlace& p) { return p.machine == m.request.machine; }))
        return true;
    return false;
  }

  // Waits until the launchers of the other machines have come: their ranks have ended.
  void wait_for_others(double patience_s) const {
    for (const double late = system_clock().seconds() + patience_s;
         server_.waiting_machines().size() < places_.size() && system_clock().seconds() < late &&
         !stop_requested();)
      system_clock().sleep(kMeetSeconds);
  }

  void ended(const LaunchRequest& r, LaunchEnd& end) const {
    if (end.regroups) return;
    if (!end.failure) wait_for_others(r.settle_s);
    if (!end.failure) end.failure = server_.first_failure();
    if (end.failure && end.status == 0) end.status = 1;
  }

 private:
  ControlServer& server_;
  std::vector<MachinePlace> places_;  // of the others
};

GroupOptions group_options(const LaunchRequest& r) {
  return {.ends_with_input = r.ends_with_input};
}

Result<LaunchEnd> serve_machines(const LaunchRequest& r, ControlServer& server) {
  MachineMeeting meeting(server);
  RestartPlan plan{
      .gather = [&](LaunchRequest& now) { return meeting.gather(now); },
      .first_too = true,
      .begun = [&](const LaunchRequest& now) { meeting.begun(now); },
      .children = [&](const LaunchRequest& now) { return local_ranks(now, server.port()); },
      .ended = [&](LaunchEnd& end) { meeting.ended(r, end); },
      .group = group_options(r)};
  plan.group.regroups = [&] { return meeting.has_new_machine(r.machines); };
  Result<LaunchEnd> end = run_restarts(r, server, plan);
  meeting.wait_for_others(r.settle_s);
  server.end_machines(end.ok() ? end->status : 1);
  system_clock().sleep(kSendSeconds);
  return end;
}

// Asks again if there is no connection: the launcher may start later, and the network may come back.
Result<std::optional<MachinePlace>> next_place(const LaunchRequest& r, double patience_s) {
  bool said = false;
  for (const double begin = system_clock().seconds();;) {
    Result<std::optional<MachinePlace>> answer =
        ask_place({.address = r.address, .port = r.port}, r.token,
                  {r.machine, r.local_ranks, host_name()}, kConnectSeconds, stop_requested);
    const double waited = system_clock().seconds() - begin;
    if (answer.ok() || !answer.error().is(err::kControlLost) || waited >= patience_s) return answer;
    if (stop_requested()) return std::optional<MachinePlace>();
    if (!said)
      log_info("{}: tries again for {}", answer.error().what(), format_duration(patience_s));
    said = true;
  }
}

Result<LaunchEnd> follow_machines(LaunchRequest r) {
  const World at{.address = r.address, .port = r.port};
  std::optional<LaunchEnd> last;
  for (;;) {
    Result<std::optional<MachinePlace>> answer = next_place(r, last ? kReturnSeconds : r.rejoin_s);
    // The launcher that served has ended with the run.
    if (!answer.ok() && last && answer.error().is(err::kControlLost)) return *last;
    std::optional<MachinePlace> place = HONE_TRY(std::move(answer));
    if (!place) return last.value_or(LaunchEnd{128 + stop_signal()});
    if (place->over && (last && last->status != 0)) return *last;
    if (place->over) return LaunchEnd{place->status};
    r.machine = place->machine;
    r.epoch = place->epoch;
    r.ranks = place->ranks;
    r.full_ranks = place->full_ranks;
    r.first_rank = place->first_rank;
    log_info("machine {}: ranks {} to {} of {}", r.machine, r.first_rank,
             r.first_rank + r.local_ranks - 1, r.ranks);
    GroupOptions options = group_options(r);
    options.report = [&](const RankFailure& failure) {
      World now = at;
      now.epoch = r.epoch;
      if (const Status heard = report_failure(now, r.token, failure); !heard.ok())
        log_warning("{}", heard.error().text());
    };
    last = HONE_TRY(run_group(HONE_TRY(local_ranks(r, r.port)), nullptr, options));
    leave_place(*place);
    if (stop_requested()) return *last;
  }
}

}  // namespace

std::vector<MachinePlace> places_of(const std::vector<WaitingMachine>& waiting, LaunchRequest& r) {
  std::set<int> taken = {r.machine};
  for (const WaitingMachine& m : waiting) taken.insert(m.request.machine);
  std::vector<std::pair<int, const WaitingMachine*>> all = {{r.machine, nullptr}};
  int next = 0;
  for (const WaitingMachine& m : waiting) {
    int number = m.request.machine;
    if (number < 0) {
      while (taken.contains(next)) ++next;
      number = next;
      taken.insert(number);
    }
    all.emplace_back(number, &m);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<MachinePlace> places;
  r.ranks = 0;
  for (const auto& [number, machine] : all) {
    if (machine == nullptr)
      r.first_rank = r.ranks;
    else
      places.push_back(
          {.connection = machine->connection, .machine = number, .first_rank = r.ranks});
    r.ranks += machine == nullptr ? r.local_ranks : machine->request.slots;
  }
  return places;
}

Result<LaunchEnd> run_machines(LaunchRequest r) {
  install_stop_handlers();
  const bool is_any = r.machine < 0;
  if (is_any ? !is_own_address(r.address) : !r.serves) return follow_machines(std::move(r));
  LaunchRequest mine = r;
  mine.serves = true;
  mine.machine = 0;
  mine.epoch = 0;  // the first membership begins when the machines are there
  Result<std::unique_ptr<ControlServer>> server = serve_ranks(mine, true);
  // Another launcher of this host was first.
  if (!server.ok() && is_any && server.error().is(err::kControlPort))
    return follow_machines(std::move(r));
  const std::unique_ptr<ControlServer> serving = HONE_TRY(std::move(server));
  return serve_machines(mine, *serving);
}

}  // namespace hone
