#include "run/commands/link_report.h"

#include <algorithm>

#include "base/core/table.h"
#include "base/core/text.h"

namespace hone {
namespace {

constexpr double kSlow = 0.5;  // of the median: a pair is named

std::string pair_text(const LinkSpeed& l) {
  return fmt::format("{} {} - {} {}", l.from, l.from_host, l.to, l.to_host);
}

std::string problem_of(const LinkSpeed& l) {
  if (l.speed.least_lost > 0 && l.speed.answers)
    return fmt::format(
        "messages of {} bytes do not arrive: large packets are lost, compare the MTU of both ends",
        l.speed.least_lost);
  return l.speed.answers ? "" : "no answer";
}

}  // namespace

LinkReport::LinkReport(std::vector<LinkSpeed> links, EngineSpeed engine)
    : links_(std::move(links)), engine_(std::move(engine)) {
  for (const LinkSpeed& l : links_) {
    const LinkSpeed*& best = best_[{l.from, l.to}];
    if (!best || l.speed.bytes_per_s > best->speed.bytes_per_s) best = &l;
  }
  std::vector<double> speeds;
  for (const auto& [pair, link] : best_) {
    speeds.push_back(link->speed.bytes_per_s);
    if (!slowest_ || link->speed.bytes_per_s < slowest_->speed.bytes_per_s) slowest_ = link;
  }
  if (speeds.empty()) return;
  std::nth_element(speeds.begin(), speeds.begin() + std::ssize(speeds) / 2, speeds.end());
  median_ = speeds[speeds.size() / 2];
}

std::string LinkReport::fault() const {
  std::vector<std::string> apart;
  for (const auto& [pair, link] : best_)
    if (link->speed.bytes_per_s <= 0) apart.push_back(pair_text(*link));
  if (!apart.empty()) return "no connection: " + join(apart, ", ");
  return engine_.problem.empty()
             ? ""
             : fmt::format("{} does not connect the ranks: {}", engine_.name, engine_.problem);
}

std::string LinkReport::text(int width) const {
  TextTable table({{.name = "pair", .kind = Column::kName},
                   {.name = "interface"},
                   {.name = "address", .priority = 1},
                   {.name = "MTU", .kind = Column::kNumber, .priority = 2},
                   {.name = "8 B us", .kind = Column::kNumber},
                   {.name = "64 KiB us", .kind = Column::kNumber},
                   {.name = "MB/s", .kind = Column::kNumber},
                   {.name = engine_.name + " MB/s", .kind = Column::kNumber},
                   {.name = "problem", .kind = Column::kSentence}});
  for (const LinkSpeed& l : links_) {
    const auto number = [](double x) { return x > 0 ? fmt::format("{:.0f}", x) : ""; };
    table.add({pair_text(l), l.interface, l.address, l.mtu > 0 ? std::to_string(l.mtu) : "",
               number(1e6 * l.speed.small_s), number(1e6 * l.speed.block_s),
               number(l.speed.bytes_per_s / 1e6), number(engine_speed(l) / 1e6), problem_of(l)});
  }
  return table.text(width) + summary();
}

OrderedJson LinkReport::json() const {
  OrderedJson j = {{"links", OrderedJson::array()}};
  for (const LinkSpeed& l : links_)
    j["links"].push_back({{"from", l.from},
                          {"from_host", l.from_host},
                          {"to", l.to},
                          {"to_host", l.to_host},
                          {"interface", l.interface},
                          {"address", l.address},
                          {"mtu", l.mtu},
                          {"small_s", l.speed.small_s},
                          {"block_s", l.speed.block_s},
                          {"bytes_per_s", l.speed.bytes_per_s},
                          {"engine_bytes_per_s", engine_speed(l)},
                          {"problem", problem_of(l)}});
  j["engine"] = {{"name", engine_.name},
                 {"all_reduce_bytes", engine_.rank0.all_reduce_bytes},
                 {"all_reduce_s", engine_.rank0.all_reduce_s},
                 {"problem", engine_.problem}};
  if (slowest_) {
    j["slowest"] = {{"from", slowest_->from},
                    {"to", slowest_->to},
                    {"bytes_per_s", slowest_->speed.bytes_per_s},
                    {"median_bytes_per_s", median_}};
  }
  return j;
}

double LinkReport::engine_speed(const LinkSpeed& l) const {
  const auto rank = static_cast<size_t>(l.from), peer = static_cast<size_t>(l.to);
  if (rank >= engine_.bytes_per_s.size() || peer >= engine_.bytes_per_s[rank].size()) return 0;
  return engine_.bytes_per_s[rank][peer].get<double>();
}

std::string LinkReport::summary() const {
  std::string text;
  const double reduce = engine_.rank0.all_reduce_s;
  if (reduce > 0)
    text += fmt::format("sums of {} on all ranks by {}: {:.3g} ms\n",
                        format_bytes(engine_.rank0.all_reduce_bytes), engine_.name, 1e3 * reduce);
  if (const std::string wrong = fault(); !wrong.empty()) return text + wrong + "\n";
  if (!slowest_) return text;
  const double speed = slowest_->speed.bytes_per_s;
  if (speed < kSlow * median_)
    text += fmt::format("slow pair: {}, {:.0f} MB/s where the median is {:.0f}\n",
                        pair_text(*slowest_), speed / 1e6, median_ / 1e6);
  return text + fmt::format("for hone plan: --network_gbit {:.3g} --network_us {:.3g}\n",
                            speed * 8 / 1e9, 1e6 * slowest_->speed.small_s);
}

}  // namespace hone
