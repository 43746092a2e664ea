#include "learn/train/run_ranks.h"

#include <algorithm>
#include <set>

#include "base/core/clock.h"
#include "base/core/error_report.h"
#include "base/core/held_stop.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "engine/device/backend.h"
#include "learn/train/errors.h"

namespace hone {

// Tells the control plane at which collective this rank is, and adds up the time that it waits there.
class RunRanks::Watch : public CollectiveWatch {
 public:
  explicit Watch(ControlClient& control) : control_(control) {}

  void reach(const std::string& node) override {
    begun_ = system_clock().seconds();
    control_.reach(++count_, node);
  }
  void pass() override {
    waited_ += system_clock().seconds() - begun_;
    control_.pass();
  }
  void end_step(double seconds) {
    constexpr size_t kMostSteps = 128;
    busy_.push_back(std::max(0.0, seconds - waited_));
    waited_ = 0;
    if (busy_.size() > kMostSteps) busy_.erase(busy_.begin());
    sorted_ = busy_;
    std::sort(sorted_.begin(), sorted_.end());
    const size_t last = sorted_.size() - 1;
    control_.set_busy(++steps_, sorted_[last / 2], sorted_[last * 99 / 100]);
  }

 private:
  ControlClient& control_;
  int64_t count_ = 0, steps_ = 0;  // collectives, steps
  double begun_ = 0, waited_ = 0;  // waited_: since the last step
  std::vector<double> busy_, sorted_;
};

RunRanks::RunRanks() = default;

RunRanks::RunRanks(const World& world)
    : host_(world.host), full_ranks_(world.full_ranks), epoch_(world.epoch) {
  HONE_BUG_IF(!world.is_alone(), "rank {} of {} without a group", world.rank, world.ranks);
}

RunRanks::RunRanks(const Share& share, int64_t local_ranks)
    : share_(share), local_ranks_(local_ranks), full_ranks_(share.ranks) {}

RunRanks::RunRanks(const World& world, KeyValues& messages, Group& group, ControlClient* control)
    : share_{world.rank, world.ranks},
      host_(world.host),
      local_ranks_(world.local_ranks),
      full_ranks_(std::max(world.full_ranks, world.ranks)),
      epoch_(world.epoch),
      messages_(&messages),
      group_(&group),
      control_(control) {
  if (control == nullptr) return;
  watch_ = std::make_unique<Watch>(*control);
  group.set_watch(watch_.get());
  if (group.name() == "gloo") control->measure_traffic();  // its messages go over TCP
}

void RunRanks::set_backend(std::unique_ptr<Backend> backend) {
  backend_ = std::move(backend);
  in_one_process_ = true;
}
std::unique_ptr<Backend> RunRanks::take_backend() { return std::move(backend_); }

RunRanks::~RunRanks() {
  if (watch_) group_->set_watch(nullptr);
}

void RunRanks::end_step(int64_t step, double seconds) {
  if (!watch_) return;
  watch_->end_step(seconds);
  control_->set_step(step);
}

// Names one call on all ranks.
std::string RunRanks::next_key(std::string_view what) {
  return fmt::format("run/{}/{}/{}", epoch_, calls_++, what);
}

// Uses a meeting of the control plane if there is one: keys stay, meetings do not.
Result<std::vector<std::string>> RunRanks::gather_texts(std::string_view what,
                                                        const std::string& mine) {
  const std::string key = next_key(what);
  if (control_ != nullptr) return control_->gather(key, mine);
  HONE_TRY(messages_->set(fmt::format("{}/{}", key, share_.rank), mine));
  std::vector<std::string> texts;
  for (int64_t rank = 0; rank < share_.ranks; ++rank)
    texts.push_back(HONE_TRY(messages_->get(fmt::format("{}/{}", key, rank))));
  return texts;
}

Result<std::vector<Json>> RunRanks::gather(std::string_view what, const Json& mine) {
  if (alone()) return std::vector<Json>{mine};
  std::vector<Json> all;
  for (const std::string& text : HONE_TRY(gather_texts(what, dump_json(mine))))
    all.push_back(HONE_TRY(parse_json(text, std::string(what))));
  return all;
}

Result<Json> RunRanks::decide(std::string_view what, FunctionRef<Result<Json>()> make) {
  if (alone()) return make();
  std::string mine;
  Result<Json> made = Json();
  if (leads()) {
    made = make();
    mine =
        dump_json(made.ok() ? Json{{"value", *made}} : Json{{"failed", report_line(made.error())}});
  }
  const std::vector<std::string> texts = HONE_TRY(gather_texts(what, mine));
  if (leads()) return made;
  Json message = HONE_TRY(parse_json(texts[0], std::string(what)));
  if (message.contains("value")) return std::move(message["value"]);
  std::optional<Error> error = reported_error(message["failed"].get<std::string>());
  HONE_BUG_IF(!error, "rank 0 failed in '{}' without an error", what);
  was_told_error_ = true;
  return std::move(*error);
}

Status RunRanks::agree(std::string_view what, const Status& mine) {
  const std::string failed = mine.ok() ? "" : report_line(mine.error());
  const std::vector<Json> all = HONE_TRY(gather(what, failed));
  for (const Json& one : all)
    if (std::optional<Error> error = reported_error(one.get<std::string>()); error) {
      was_told_error_ = mine.ok();
      return std::move(*error);
    }
  return Ok{};
}

Status RunRanks::share_stops() {
  if (alone()) return Ok{};
  const std::vector<Json> signals =
      HONE_TRY(gather("a request to stop", std::max(HeldStops::waiting(), stop_signal())));
  for (const Json& signal : signals)
    if (const int one = signal.get<int>(); one != 0) request_stop(one);
  return Ok{};
}

Result<std::vector<std::string>> RunRanks::gather_bytes(std::string_view mine) {
  std::vector<std::string> all(static_cast<size_t>(share_.ranks));
  all[static_cast<size_t>(share_.rank)] = mine;
  if (alone()) return all;
  if (watch_) watch_->reach("results of all ranks");
  const auto exchange = [&](std::span<const std::byte> sent, auto place_of) -> Status {
    std::vector<Send> sends;
    std::vector<Receive> receives;
    for (int rank = 0; rank < group_->ranks(); ++rank) {
      if (rank == group_->rank()) continue;
      sends.push_back({rank, sent});
      receives.push_back({rank, place_of(static_cast<size_t>(rank))});
    }
    return group_->exchange(sends, receives);
  };
  std::vector<int64_t> sizes(all.size(), std::ssize(mine));
  const int64_t size = std::ssize(mine);
  HONE_TRY(exchange(std::as_bytes(std::span(&size, 1)), [&](size_t rank) {
    return std::as_writable_bytes(std::span(&sizes[rank], 1));
  }));
  for (size_t rank = 0; rank < all.size(); ++rank)
    all[rank].resize(static_cast<size_t>(sizes[rank]));
  HONE_TRY(exchange(std::as_bytes(std::span(mine)),
                    [&](size_t rank) { return std::as_writable_bytes(std::span(all[rank])); }));
  if (watch_) watch_->pass();
  return all;
}

Status check_equal_facts(const std::vector<Json>& facts) {
  std::vector<std::string> places;
  std::set<std::string> names;
  const Json& first = facts.front();
  for (size_t rank = 1; rank < facts.size(); ++rank) {
    std::set<std::string> own;
    for (const Json* one : {&first, &facts[rank]})
      for (const auto& [name, value] : one->items())
        if (name != "host" && first.value(name, Json()) != facts[rank].value(name, Json()))
          own.insert(name);
    for (const std::string& name : own)
      places.push_back(fmt::format("rank {} on {}: '{}' is {}, rank 0 on {} has {}", rank,
                                   facts[rank].value("host", "?"), name,
                                   dump_json(facts[rank].value(name, Json())),
                                   first.value("host", "?"), dump_json(first.value(name, Json()))));
    names.insert(own.begin(), own.end());
  }
  if (places.empty()) return Ok{};
  Error error(err::kRanksDiffer,
              fmt::format("the ranks of the run differ in {}",
                          join(std::vector<std::string>(names.begin(), names.end()), ", ")));
  for (const std::string& place : places) error.at(place);
  return std::move(error.todo("give all ranks the same program, settings and data"));
}

}  // namespace hone
