#include "base/ranks/members.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "base/ranks/errors.h"

namespace hone {
namespace {

constexpr size_t kMostDifferences = 4, kMostFactBytes = 120;  // of a message
constexpr double kSlowRatio = 1.2;                            // to the time of the median rank
constexpr double kSlowSeconds = 0.005;                        // a smaller difference is noise
constexpr int64_t kLeastTimedSteps = 16;                      // before a rank is called slow

std::string fact_text(const Json& facts, const std::string& name) {
  const auto it = facts.find(name);
  if (it == facts.end()) return "none";
  const std::string text = it->is_string() ? it->get<std::string>() : dump_json(*it);
  const std::string shown = utf8_prefix(text, kMostFactBytes);
  return fmt::format("'{}{}'", shown, shown.size() < text.size() ? "..." : "");
}

// "settings 'a' instead of 'b'; data 'c' instead of 'd'"; "" if the facts are equal.
std::string differences(const Json& facts, const Json& expected) {
  std::set<std::string> names;
  for (const Json* all : {&facts, &expected})
    for (const auto& [name, value] : all->items()) names.insert(name);
  std::vector<std::string> texts;
  size_t more = 0;
  for (const std::string& name : names) {
    if (value_at(facts, name.c_str()) == value_at(expected, name.c_str())) continue;
    if (texts.size() == kMostDifferences)
      ++more;
    else
      texts.push_back(fmt::format("{} {} instead of {}", name, fact_text(facts, name),
                                  fact_text(expected, name)));
  }
  if (more > 0) texts.push_back(fmt::format("and {} more", more));
  return join(texts, "; ");
}

// Smaller numbers take precedence.
int order_of(const RankFailure& failure) {
  if (failure.follows) return 2;
  return failure.error.is(err::kRankLost) ? 1 : 0;
}

}  // namespace

Members::Members(int ranks, ControlTimes times)
    : times_(times), members_(static_cast<size_t>(ranks)) {
  HONE_BUG_IF(ranks < 1, "{} ranks", ranks);
}

const Members::Member& Members::at(int rank) const {
  HONE_BUG_IF(rank < 0 || rank >= ranks(), "there is no rank {}", rank);
  return members_[static_cast<size_t>(rank)];
}

std::vector<Members::JoinAnswer> Members::join(const Join& join, int64_t connection, double now) {
  const auto refuse = [&](const ErrorCode& code, const std::string& why, const char* remedy) {
    return std::vector<JoinAnswer>{
        {connection,
         Error(code, fmt::format("{} may not join: {}", rank_name(join.rank, join.host), why))
             .todo(remedy)}};
  };
  if (join.rank < 0 || join.rank >= ranks())
    return refuse(err::kRankRefused, fmt::format("the run has ranks 0 to {}", ranks() - 1),
                  "start WORLD_SIZE ranks, numbered from 0");
  Member& member = at(join.rank);
  if (member.presence == Presence::kLeft || member.presence == Presence::kLost)
    return refuse(err::kStaleEpoch, "the rank of this number has ended in this membership",
                  "start the run again");
  if (member.presence != Presence::kAbsent)
    return refuse(err::kRankRefused,
                  fmt::format("{} has joined already", rank_name(join.rank, member.host)),
                  "give each process its own RANK");
  if (std::all_of(members_.begin(), members_.end(),
                  [](const Member& m) { return m.presence == Presence::kAbsent; }))
    first_join_ = now;
  member = {.presence = Presence::kAsked,
            .host = join.host,
            .facts = join.facts,
            .connection = connection,
            .heard = now};
  std::vector<JoinAnswer> answers;
  if (at(0).presence == Presence::kAbsent) return answers;
  for (int rank = 0; rank < ranks(); ++rank)
    if (at(rank).presence == Presence::kAsked) answers.push_back(answer(rank, now));
  return answers;
}

Members::JoinAnswer Members::answer(int rank, double now) {
  Member& member = at(rank);
  const std::string differs = differences(member.facts, at(0).facts);
  if (differs.empty()) {
    member.presence = Presence::kHere;
    return {member.connection, std::nullopt};
  }
  Error error =
      Error(err::kRankDiffers, fmt::format("{} differs from {}: {}", rank_name(rank, member.host),
                                           rank_name(0, at(0).host), differs))
          .todo("start all ranks with the same program, flags and files");
  member.presence = Presence::kLost;
  member.lost = now;
  fail({rank, member.host, {}, error, false}, now);
  return {member.connection, std::move(error)};
}

void Members::beat(int rank, RankProgress progress, double now) {
  Member& m = at(rank);
  const RankProgress& before = m.progress;
  if (!progress.waiting || progress.collective != before.collective ||
      progress.moved_bytes != before.moved_bytes)
    m.moved = now;
  m.progress = std::move(progress);
  m.heard = now;
}

bool Members::are_stuck(double now) const {
  int moving = 0;  // one rank may have connections to others than ranks
  for (int rank = 0; rank < ranks(); ++rank) {
    const Member& m = at(rank);
    if (m.presence != Presence::kHere || is_silent(rank, now) || !m.progress.waiting ||
        m.progress.moved_bytes < 0 || m.progress.collective != at(0).progress.collective)
      return false;
    if (now - m.moved < times_.stuck_s) ++moving;
  }
  return ranks() > 1 && moving <= 1;
}

void Members::fail_stuck(double now) {
  std::set<std::string> hosts;
  for (const Member& m : members_) hosts.insert(m.host);
  int rank = ranks() - 1;
  if (now - at(rank).moved < times_.stuck_s) --rank;
  fail({rank, at(rank).host, progress(rank, now),
        Error(err::kMessagesLost,
              fmt::format("all {} ranks wait at '{}', and no byte has moved between them for {}: "
                          "hosts {}",
                          ranks(), at(0).progress.node, format_duration(times_.stuck_s),
                          hone::join({hosts.begin(), hosts.end()}, ", ")))
            .todo("test the links between these hosts with large packets: ping -M do -s 1472"),
        false},
       now);
}

void Members::leave(int rank, double now) {
  at(rank).presence = Presence::kLeft;
  at(rank).left = now;
}

void Members::lose(int rank, double now) {
  Member& member = at(rank);
  if (member.presence == Presence::kLeft || member.presence == Presence::kLost) return;
  fail({rank, member.host, progress(rank, now),
        Error(err::kRankLost, fmt::format("{} ended without an error: its connection ended",
                                          rank_name(rank, member.host)))
            .todo("read the last lines of this rank, and the log of its host's kernel"),
        false},
       now);
  member.presence = Presence::kLost;
  member.lost = now;
}

void Members::fail(RankFailure failure, double now) {
  if (first_) return;
  if (!candidate_) candidate_time_ = now;
  if (!candidate_ || order_of(failure) < order_of(*candidate_)) candidate_ = std::move(failure);
  tick(now);
}

void Members::tick(double now) {
  if (!first_ && !candidate_ && are_stuck(now)) fail_stuck(now);
  if (first_ || !candidate_) return;
  if (order_of(*candidate_) == 0 || now - candidate_time_ >= times_.grace_s)
    first_ = std::move(candidate_);
}

RankProgress Members::progress(int rank, double now) const {
  RankProgress p = at(rank).progress;
  p.since_s += now - at(rank).heard;
  return p;
}

bool Members::is_silent(int rank, double now) const {
  return at(rank).presence == Presence::kHere && now - at(rank).heard >= times_.silent_s;
}

bool Members::have_all_joined() const {
  return std::none_of(members_.begin(), members_.end(),
                      [](const Member& m) { return m.presence == Presence::kAbsent; });
}

bool Members::have_all_ended() const {
  return std::all_of(members_.begin(), members_.end(), [](const Member& m) {
    return m.presence != Presence::kAsked && m.presence != Presence::kHere;
  });
}

std::string Members::doing(int rank, double now) const {
  const Member& m = at(rank);
  switch (m.presence) {
    case Presence::kAbsent:
      return "has not joined";
    case Presence::kLeft:
      return "has ended";
    case Presence::kLost:
      return fmt::format("is lost for {}", format_duration(now - m.lost));
    default:
      break;
  }
  const std::string text = progress(rank, now).text();
  return is_silent(rank, now)
             ? fmt::format("is silent for {}: {}", format_duration(now - m.heard), text)
             : text;
}

std::vector<MissingRank> Members::missing(const std::function<bool(int rank)>& there,
                                          double now) const {
  std::vector<MissingRank> all;
  for (int rank = 0; rank < ranks(); ++rank)
    if (!there(rank))
      all.push_back({rank, at(rank).host, doing(rank, now), at(rank).presence == Presence::kLeft,
                     now - at(rank).left});
  return all;
}

std::vector<MissingRank> Members::missing_at(int64_t collective, double now) const {
  return missing(
      [&](int rank) {
        const Member& m = at(rank);
        return m.presence == Presence::kHere && m.progress.collective >= collective;
      },
      now);
}

std::map<int, std::string> Members::slow_ranks() const {
  std::map<int, std::string> lines;
  std::vector<double> times;
  for (const Member& m : members_) {
    if (m.presence != Presence::kHere || m.progress.timed_steps < kLeastTimedSteps) return lines;
    times.push_back(m.progress.busy_p50_s);
  }
  const auto median = times.begin() + (std::ssize(times) - 1) / 2;
  std::nth_element(times.begin(), median, times.end());
  for (int rank = 0; rank < ranks(); ++rank) {
    const RankProgress& p = at(rank).progress;
    if (p.busy_p50_s < kSlowRatio * *median || p.busy_p50_s < *median + kSlowSeconds) continue;
    lines[rank] = fmt::format(
        "{} is slow: its steps compute for {:.3g} s (p99 {:.3g} s), {:.2f} times the {:.3g} s of "
        "the median rank",
        rank_name(rank, at(rank).host), p.busy_p50_s, p.busy_p99_s, p.busy_p50_s / *median,
        *median);
  }
  return lines;
}

Wait Members::start_wait(double now) const {
  Wait wait{"the start", now - first_join_, 0, {}};
  wait.missing = missing([&](int rank) { return at(rank).presence != Presence::kAbsent; }, now);
  wait.waiting = ranks() - static_cast<int>(wait.missing.size());
  return wait;
}

Wait Members::collective_wait(double now) const {
  Wait wait;
  int64_t collective = 0;
  for (int rank = 0; rank < ranks(); ++rank) {
    const Member& m = at(rank);
    if (m.presence == Presence::kHere && m.progress.waiting &&
        m.progress.collective >= collective) {
      if (m.progress.collective > collective)
        wait = {fmt::format("'{}'", m.progress.node), 0, 0, {}, now - m.heard};
      collective = m.progress.collective;
      ++wait.waiting;
      wait.since_s = std::max(wait.since_s, progress(rank, now).since_s);
      wait.heard_s = std::min(wait.heard_s, now - m.heard);
    }
  }
  if (wait.waiting > 0) wait.missing = missing_at(collective, now);
  return wait;
}

std::vector<Wait> Members::waits(double now) const {
  std::vector<Wait> all;
  for (Wait& wait : std::array{start_wait(now), collective_wait(now)})
    if (wait.waiting > 0 && !wait.missing.empty()) all.push_back(std::move(wait));
  return all;
}

}  // namespace hone
