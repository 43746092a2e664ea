#include "base/ranks/rank_status.h"

#include "base/core/clock.h"
#include "base/core/error_report.h"
#include "base/core/text.h"
#include "base/ranks/errors.h"

namespace hone {
namespace {

constexpr size_t kMostNamed = 8;        // ranks of one text
constexpr size_t kMostNameBytes = 200;  // of a node or work, as shown

std::string short_name(const std::string& name) {
  return utf8_prefix(name, kMostNameBytes) + (name.size() > kMostNameBytes ? "..." : "");
}

int rank_at(const Json& json) {
  const int64_t rank = whole_at(json, "rank");
  return rank >= 0 && rank <= INT32_MAX ? static_cast<int>(rank) : 0;
}

}  // namespace

std::string RankProgress::text() const {
  const std::string after =
      step < 0 ? std::string(", before the first step") : fmt::format(", at step {}", step);
  const std::string time = ", for " + format_duration(since_s);
  if (!work.empty()) {
    const std::string part =
        work_total > 0 ? fmt::format(", {} of {}", work_done, work_total) : std::string();
    return short_name(work) + part + time + after;
  }
  if (waiting) return fmt::format("waits in '{}'{}{}", short_name(node), time, after);
  return (node.empty() ? std::string("computes")
                       : fmt::format("computes after '{}'", short_name(node))) +
         time + after;
}

Json progress_json(const RankProgress& p) {
  return {{"step", p.step},         {"collective", p.collective}, {"node", short_name(p.node)},
          {"waiting", p.waiting},   {"work", short_name(p.work)}, {"done", p.work_done},
          {"total", p.work_total},  {"since", p.since_s},         {"moved", p.moved_bytes},
          {"timed", p.timed_steps}, {"p50", p.busy_p50_s},        {"p99", p.busy_p99_s}};
}

RankProgress progress_of(const Json& json) {
  RankProgress p;
  p.step = whole_at(json, "step");
  p.collective = whole_at(json, "collective");
  p.node = text_at(json, "node");
  p.waiting = value_at(json, "waiting") == Json(true);
  p.work = text_at(json, "work");
  p.work_done = whole_at(json, "done");
  p.work_total = whole_at(json, "total");
  p.moved_bytes = whole_at(json, "moved");
  p.timed_steps = whole_at(json, "timed");
  const auto seconds = [&json](const char* name) {
    const Json& value = value_at(json, name);
    return value.is_number() ? value.get<double>() : 0.0;
  };
  p.since_s = seconds("since");
  p.busy_p50_s = seconds("p50");
  p.busy_p99_s = seconds("p99");
  return p;
}

std::string RankFailure::sentence() const {
  const std::string step = progress.step < 0 ? std::string(" before the first step")
                                             : fmt::format(" at step {}", progress.step);
  const std::string node =
      progress.waiting ? fmt::format(" in '{}'", short_name(progress.node)) : std::string();
  return fmt::format("{} failed first{}{}: {} {}", rank_name(rank, host), step, node, error.code(),
                     error.what());
}

Error RankFailure::to_others() const {
  Error e(err::kRankFailed, sentence());
  for (const std::string& where : error.where()) e.at(where);
  e.todo(error.remedy());
  return e;
}

Json failure_json(const RankFailure& failure) {
  return {{"rank", failure.rank},
          {"host", failure.host},
          {"follows", failure.follows},
          {"progress", progress_json(failure.progress)}};
}

RankFailure failure_of(const Json& json, std::string_view report) {
  std::optional<Error> error = reported_error(report);
  return {rank_at(json), text_at(json, "host"), progress_of(value_at(json, "progress")),
          error ? std::move(*error)
                : Error(err::kRankLost, "it ended with an error that cannot be read"),
          value_at(json, "follows") == Json(true)};
}

std::string MissingRank::text() const { return rank_name(rank, host) + ": " + doing; }

std::string rank_name(int rank, const std::string& host) {
  return host.empty() ? fmt::format("rank {}", rank)
                      : fmt::format("rank {} on host {}", rank, host);
}

std::string missing_text(const std::vector<MissingRank>& missing) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < missing.size() && i < kMostNamed; ++i) texts.push_back(missing[i].text());
  if (missing.size() > kMostNamed)
    texts.push_back(fmt::format("and {} more", missing.size() - kMostNamed));
  return join(texts, "; ");
}

}  // namespace hone
