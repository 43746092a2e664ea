#include "base/ranks/control_state.h"

#include <algorithm>
#include <cmath>

#include "base/core/clock.h"
#include "base/core/error_report.h"
#include "base/core/secret.h"
#include "base/ranks/errors.h"

namespace hone {
namespace {

constexpr size_t kMostKeyBytes = 1024, kMostStoredBytes = size_t{256} << 20;
constexpr int64_t kMostMachineNumber = 65535;

ControlState::Out refusal(int64_t connection, const Error& error) {
  return {connection, {{{"do", "refused"}}, report_line(error)}, true};
}

Frame failed_frame(const RankFailure& failure) {
  Json head = failure_json(failure);
  head["do"] = "failed";
  return {std::move(head), report_line(failure.error)};
}

Frame stop_frame(int signal) { return {{{"do", "stop"}, {"signal", signal}}, ""}; }

}  // namespace

ControlState::ControlState(ControlOptions options)
    : options_(std::move(options)),
      members_(options_.ranks, options_.times),
      meetings_(options_.ranks) {}

std::vector<ControlState::Out> ControlState::receive(int64_t connection, const Frame& frame,
                                                     double now) {
  const std::string what = text_at(frame.head, "do");
  if (what == "join") return join(connection, frame.head, now);
  if (what == "report") return report(connection, frame, now);
  if (what == "machine") return add_machine(connection, frame.head);
  if (what == "ended" && placed_.erase(connection) > 0)
    return {{connection, {{{"do", "heard"}}, ""}, true}};
  const auto known = ranks_.find(connection);
  if (known == ranks_.end())
    return {
        refusal(connection, Error(err::kStaleEpoch, "this rank is not in the present membership")
                                .todo("start the run again"))};
  const int rank = known->second;
  const std::string key = text_at(frame.head, "key");
  const int64_t id = whole_at(frame.head, "id");
  std::vector<Out> out;
  if (what == "beat") {
    members_.beat(rank, progress_of(frame.head), now);
    out = {{connection, {{{"do", "heard"}}, ""}}};
  }
  if (what == "set") out = set(connection, key, frame.body);
  if (what == "get") out = get(connection, key, id);
  if (what == "forget")
    for (auto& [name, waiting] : waiting_) waiting.erase({connection, id});
  if (what == "meet") out = meet(connection, rank, frame, now);
  if (what == "missing") out = missing(connection, frame.head, now);
  if (what == "times") out = times(connection, id, now);
  if (what == "leave") members_.leave(rank, now);
  if (what == "fail") {
    RankFailure failure = failure_of(frame.head, frame.body);
    failure.rank = rank;
    failure.host = members_.host(rank);
    members_.fail(std::move(failure), now);
  }
  announce_failure(out);
  return out;
}

std::vector<ControlState::Out> ControlState::join(int64_t connection, const Json& head,
                                                  double now) {
  const auto refuse = [&](const ErrorCode& code, const std::string& why,
                          const std::string& remedy) {
    return std::vector<Out>{refusal(connection, Error(code, why).todo(remedy))};
  };
  if (!equal_secrets(text_at(head, "token"), options_.token))
    return refuse(err::kRankRefused, "a rank may not join: its token is not that of the run",
                  "give all ranks the same HONE_RANKS_TOKEN");
  const int64_t rank = whole_at(head, "rank"), ranks = whole_at(head, "ranks"),
                epoch = whole_at(head, "epoch");
  const std::string name =
      rank_name(static_cast<int>(std::clamp<int64_t>(rank, -1, INT32_MAX)), text_at(head, "host"));
  if (epoch != options_.epoch)
    return refuse(err::kStaleEpoch,
                  fmt::format("{} may not join: it belongs to membership {}, and this is {}", name,
                              epoch, options_.epoch),
                  "start the rank again");
  if (ranks != members_.ranks() || rank < 0 || rank >= ranks)
    return refuse(
        err::kRankRefused,
        fmt::format("{} may not join: it was started as one of {} ranks, and the run has {}", name,
                    ranks, members_.ranks()),
        "start the number of ranks that the launcher names");
  if (ranks_.contains(connection))
    return refuse(err::kRankRefused, name + " may not join twice", "start the run again");
  Members::Join request{static_cast<int>(rank), text_at(head, "host")};
  if (const Json& facts = value_at(head, "facts"); facts.is_object()) request.facts = facts;
  ranks_[connection] = request.rank;
  std::vector<Out> out;
  bool is_answered = false;
  for (Members::JoinAnswer& answer : members_.join(request, connection, now)) {
    is_answered = is_answered || answer.connection == connection;
    if (answer.refused) {
      ranks_.erase(answer.connection);
      out.push_back(refusal(answer.connection, *answer.refused));
    } else {
      out.push_back({answer.connection, {{{"do", "welcome"}, {"epoch", options_.epoch}}, ""}});
      if (announced_) out.push_back({answer.connection, failed_frame(*members_.first_failure())});
      if (stop_signal_ != 0) out.push_back({answer.connection, stop_frame(stop_signal_)});
    }
  }
  // Rank 0 may be the one that failed: nobody answers then.
  if (announced_ && !is_answered)
    out.push_back({connection, failed_frame(*members_.first_failure())});
  announce_failure(out);
  return out;
}

std::vector<ControlState::Out> ControlState::report(int64_t connection, const Frame& frame,
                                                    double now) {
  std::vector<Out> out;
  if (equal_secrets(text_at(frame.head, "token"), options_.token) &&
      whole_at(frame.head, "epoch") == options_.epoch)
    out = fail(failure_of(frame.head, frame.body), now);
  out.push_back({connection, {{{"do", "heard"}}, ""}, true});
  return out;
}

std::vector<ControlState::Out> ControlState::add_machine(int64_t connection, const Json& head) {
  if (!equal_secrets(text_at(head, "token"), options_.token))
    return {refusal(connection, Error(err::kRankRefused,
                                      "a machine may not join: its token is not that of the run")
                                    .todo("give all machines the same HONE_RANKS_TOKEN"))};
  const auto number = [&head](const char* name, int64_t least) {
    return static_cast<int>(std::clamp<int64_t>(whole_at(head, name), least, kMostMachineNumber));
  };
  const MachineRequest request{number("machine", -1), number("slots", 1), text_at(head, "host")};
  // A launcher that comes again replaces itself.
  std::vector<Out> out;
  if (request.machine >= 0)
    std::erase_if(machines_, [&](const WaitingMachine& m) {
      const bool is_same = m.request.machine == request.machine;
      if (is_same) out.push_back({m.connection, {{{"do", "over"}}, ""}, true});
      return is_same;
    });
  machines_.push_back({connection, request});
  return out;
}

bool ControlState::waits_for_place(int64_t connection) const {
  return std::any_of(machines_.begin(), machines_.end(),
                     [&](const WaitingMachine& m) { return m.connection == connection; });
}

std::vector<ControlState::Out> ControlState::place_machines(
    const std::vector<MachinePlace>& places) {
  std::vector<Out> out;
  for (const MachinePlace& p : places) {
    out.push_back({p.connection,
                   {{{"do", "place"},
                     {"machine", p.machine},
                     {"epoch", p.epoch},
                     {"ranks", p.ranks},
                     {"full_ranks", p.full_ranks},
                     {"first_rank", p.first_rank}},
                    ""}});
    for (const WaitingMachine& m : machines_)
      if (m.connection == p.connection)
        placed_[p.connection] = {p.first_rank, m.request.slots, m.request.host};
    std::erase_if(machines_, [&](const WaitingMachine& m) { return m.connection == p.connection; });
  }
  return out;
}

std::vector<ControlState::Out> ControlState::end_machines(int status) {
  std::vector<Out> out;
  for (const WaitingMachine& m : machines_)
    out.push_back({m.connection, {{{"do", "over"}, {"status", status}}, ""}, true});
  machines_.clear();
  return out;
}

std::vector<ControlState::Out> ControlState::closed(int64_t connection, double now) {
  std::vector<Out> out;
  std::erase_if(machines_, [&](const WaitingMachine& m) { return m.connection == connection; });
  if (const auto placed = placed_.extract(connection)) {
    lose_machine(placed.mapped(), now);
    announce_failure(out);
    return out;
  }
  const auto known = ranks_.find(connection);
  if (known == ranks_.end()) return out;
  for (auto& [name, waiting] : waiting_)
    waiting.erase(waiting.lower_bound({connection, INT64_MIN}),
                  waiting.upper_bound({connection, INT64_MAX}));
  const int rank = known->second;
  ranks_.erase(known);
  members_.lose(rank, now);
  announce_failure(out);
  return out;
}

void ControlState::lose_machine(const Placed& placed, double now) {
  for (int i = 0; i < placed.slots && placed.first_rank + i < members_.ranks(); ++i)
    if (const int rank = placed.first_rank + i; !members_.has_come(rank))
      return members_.fail(
          {rank,
           placed.host,
           {},
           Error(err::kRankLost,
                 fmt::format("{} did not join: its launcher is gone", rank_name(rank, placed.host)))
               .todo("read the last lines of the launcher there, and the log of its host's kernel"),
           false},
          now);
}

std::vector<ControlState::Out> ControlState::tick(double now) {
  std::vector<Out> out;
  members_.tick(now);
  end_hopeless_waits(now);
  announce_failure(out);
  return out;
}

void ControlState::end_hopeless_waits(double now) {
  if (members_.first_failure()) return;
  for (const Wait& wait : waits(now))
    for (const MissingRank& m : wait.missing)
      if (m.ended && wait.since_s >= options_.times.grace_s &&
          m.ended_s - wait.heard_s >= options_.times.grace_s)
        members_.fail({m.rank, m.host, members_.progress(m.rank, now),
                       Error(err::kRanksMissing,
                             fmt::format("{} has ended, and {} of {} ranks wait for it at {}",
                                         rank_name(m.rank, m.host), wait.waiting, members_.ranks(),
                                         wait.place)),
                       false},
                      now);
}

std::vector<ControlState::Out> ControlState::begin_epoch(int ranks) {
  std::vector<Out> out;
  ++options_.epoch;
  for (const auto& [connection, rank] : ranks_)
    out.push_back({connection, {{{"do", "epoch"}, {"epoch", options_.epoch}}, ""}, true});
  std::vector<WaitingMachine> machines = std::move(machines_);
  *this = ControlState({ranks, options_.epoch, options_.token, options_.times});
  machines_ = std::move(machines);
  return out;
}

std::vector<ControlState::Out> ControlState::stop(int signal) {
  std::vector<Out> out;
  stop_signal_ = signal;
  for (const auto& [connection, rank] : ranks_) out.push_back({connection, stop_frame(signal)});
  return out;
}

std::vector<ControlState::Out> ControlState::fail(RankFailure failure, double now) {
  std::vector<Out> out;
  members_.fail(std::move(failure), now);
  announce_failure(out);
  return out;
}

void ControlState::announce_failure(std::vector<Out>& out) {
  if (announced_ || !members_.first_failure()) return;
  announced_ = true;
  for (const auto& [connection, rank] : ranks_)
    out.push_back({connection, failed_frame(*members_.first_failure())});
}

std::vector<ControlState::Out> ControlState::set(int64_t connection, const std::string& key,
                                                 const std::string& value) {
  std::vector<Out> out;
  const auto old = values_.find(key);
  const size_t old_bytes = old == values_.end() ? 0 : old->second.size() + key.size();
  const size_t bytes = value_bytes_ - old_bytes + key.size() + value.size();
  if (key.size() > kMostKeyBytes || bytes > kMostStoredBytes)
    return {refusal(connection,
                    Error(err::kControlMessage, "the keys of the ranks take more than 256 MiB"))};
  value_bytes_ = bytes;
  values_[key] = value;
  const auto waiting = waiting_.find(key);
  if (waiting == waiting_.end()) return out;
  for (const auto& [connection, id] : waiting->second)
    out.push_back({connection, {{{"do", "value"}, {"id", id}}, value}});
  waiting_.erase(waiting);
  return out;
}

std::vector<ControlState::Out> ControlState::get(int64_t connection, const std::string& key,
                                                 int64_t id) {
  if (const auto it = values_.find(key); it != values_.end())
    return {{connection, {{{"do", "value"}, {"id", id}}, it->second}}};
  if (key.size() <= kMostKeyBytes) waiting_[key].insert({connection, id});
  return {};
}

std::vector<ControlState::Out> ControlState::meet(int64_t connection, int rank, const Frame& frame,
                                                  double now) {
  std::vector<Out> out;
  const std::vector<Meetings::Guest> guests = meetings_.come(
      text_at(frame.head, "name"), rank, {connection, whole_at(frame.head, "id"), frame.body}, now);
  Json sizes = Json::array();
  std::string bytes;
  for (const Meetings::Guest& guest : guests) {
    sizes.push_back(guest.bytes.size());
    bytes += guest.bytes;
  }
  for (const Meetings::Guest& guest : guests)
    out.push_back({guest.connection, {{{"do", "met"}, {"id", guest.id}, {"sizes", sizes}}, bytes}});
  return out;
}

std::vector<ControlState::Out> ControlState::missing(int64_t connection, const Json& head,
                                                     double now) const {
  Json ranks = Json::array();
  for (const MissingRank& m : members_.missing_at(whole_at(head, "collective"), now))
    ranks.push_back({{"rank", m.rank}, {"host", m.host}, {"doing", m.doing}});
  return {{connection, {{{"do", "missing"}, {"id", whole_at(head, "id")}, {"ranks", ranks}}, ""}}};
}

std::vector<ControlState::Out> ControlState::times(int64_t connection, int64_t id,
                                                   double now) const {
  Json ranks = Json::array();
  for (int rank = 0; rank < members_.ranks(); ++rank)
    ranks.push_back({{"rank", rank},
                     {"host", members_.host(rank)},
                     {"progress", progress_json(members_.progress(rank, now))}});
  return {{connection, {{{"do", "times"}, {"id", id}, {"ranks", ranks}}, ""}}};
}

std::vector<Wait> ControlState::waits(double now) const {
  std::vector<Wait> all = members_.waits(now);
  if (!members_.have_all_joined()) return all;
  for (const auto& [name, meeting] : meetings_.open()) {
    const std::map<int, Meetings::Guest>& guests = meeting.guests;
    Wait wait{fmt::format("'{}'", name), now - meeting.since, static_cast<int>(guests.size()), {}};
    wait.missing = members_.missing([&guests](int rank) { return guests.contains(rank); }, now);
    all.push_back(std::move(wait));
  }
  return all;
}

std::vector<std::string> ControlState::due_reports(double now) {
  std::vector<std::string> lines;
  if (announced_) return lines;
  std::map<std::string, Report> kept;
  for (const Wait& wait : waits(now)) {
    Report report{options_.times.report_s, now - wait.since_s};
    // The same wait: heartbeats and arrivals differ by up to a second.
    if (const auto it = reports_.find(wait.place);
        it != reports_.end() && std::abs(it->second.started - report.started) < 2)
      report = it->second;
    if (wait.since_s >= report.next_s) {
      lines.push_back(fmt::format("{} of {} ranks wait at {} for {}: {}", wait.waiting,
                                  members_.ranks(), wait.place, format_duration(wait.since_s),
                                  missing_text(wait.missing)));
      while (report.next_s <= wait.since_s) report.next_s *= 3;
    }
    kept[wait.place] = report;
  }
  reports_ = std::move(kept);
  for (const MissingRank& m :
       members_.missing([&](int rank) { return !members_.is_silent(rank, now); }, now))
    if (silent_.insert(m.rank).second) lines.push_back(m.text());
  std::erase_if(silent_, [&](int rank) { return !members_.is_silent(rank, now); });
  const std::map<int, std::string> slow = members_.slow_ranks();
  for (const auto& [rank, line] : slow)
    if (slow_.insert(rank).second) lines.push_back(line);
  std::erase_if(slow_, [&](int rank) { return !slow.contains(rank); });
  return lines;
}

}  // namespace hone
