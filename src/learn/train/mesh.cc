#include "learn/train/mesh.h"

#include <charconv>
#include <map>

#include "base/core/log.h"
#include "base/core/text.h"
#include "base/settings/errors.h"
#include "learn/train/errors.h"
#include "learn/train/run_ranks.h"
#include "learn/train/settings.h"

namespace hone {

Error bad_mesh(const std::string& text, const std::string& why, const std::string& wanted) {
  return Error(err::kSettingChoice, "mesh: " + why)
      .at("--mesh " + text)
      .todo("write data=N,tensor=T,pipeline=P with " + wanted);
}

Result<MeshAxes> read_mesh(const std::string& text, const std::string& wanted) {
  MeshAxes mesh;
  if (text.empty()) return mesh;
  std::map<std::string, int64_t> axes;
  for (const std::string& part : split(text, ',')) {
    const size_t equal = part.find('=');
    const std::string axis(trim(part.substr(0, equal)));
    if (axis != "data" && axis != "tensor" && axis != "pipeline")
      return bad_mesh(text, fmt::format("there is no axis '{}'", axis), wanted);
    int64_t size = 0;
    const std::string digits(equal == std::string::npos ? "" : trim(part.substr(equal + 1)));
    const char* const end = digits.data() + digits.size();
    if (const auto [at, failed] = std::from_chars(digits.data(), end, size);
        failed != std::errc() || at != end || size < 1 || size > 1 << 20)
      return bad_mesh(text, fmt::format("'{}' is not a size", digits), wanted);
    if (!axes.emplace(axis, size).second)
      return bad_mesh(text, fmt::format("the axis '{}' appears twice", axis), wanted);
  }
  if (axes.contains("data")) mesh.data = axes["data"];
  if (axes.contains("tensor")) mesh.tensor = axes["tensor"];
  if (axes.contains("pipeline")) mesh.pipeline = axes["pipeline"];
  return mesh;
}

namespace {

Error mesh_does_not_fit(const TrainSettings& s, std::string what, std::string todo) {
  return Error(err::kMeshDoesNotFit, std::move(what)).at("--mesh " + s.mesh).todo(std::move(todo));
}

// Settings whose results would need whole weights on a rank.
std::optional<Error> uncombined(const TrainSettings& s) {
  const auto refused = [&](const std::string& flag, const std::string& why) {
    return mesh_does_not_fit(
        s, fmt::format("--{} does not combine with the axis 'tensor': {}", flag, why),
        fmt::format("leave --{} or the axis out", flag));
  };
  if (s.split_invariant > 0) return {};  // weights stay whole
  if (s.ema_decay > 0) return refused("ema_decay", "averages are exchanged with whole weights");
  if (s.pure_bf16())
    return refused("dtype bfloat16", "rounding is numbered by elements of whole weights");
  return {};
}

}  // namespace

Status set_mesh(const TrainSettings& s) {
  RunRanks& ranks = *s.ranks;
  const MeshAxes mesh =
      HONE_TRY(read_mesh(s.mesh, fmt::format("a product of {}", ranks.full_ranks())));
  if (mesh.pipeline > 1)
    return mesh_does_not_fit(s, "hone train does not divide layers among ranks",
                             "leave the axis 'pipeline' out");
  const int64_t all = ranks.share().ranks, full = ranks.full_ranks(),
                asked = mesh.data.value_or(0) * mesh.tensor;
  if (all % mesh.tensor != 0 || full % mesh.tensor != 0 ||
      (asked > 0 && asked != full && asked != all))
    return mesh_does_not_fit(
        s, fmt::format("the mesh does not fit a run of {} {}", all, all == 1 ? "rank" : "ranks"),
        fmt::format(
            "start as many ranks as the product of its axes: hone launch --num_processes {} "
            "-- train ...",
            std::max(asked, mesh.tensor)));
  if (mesh.tensor > 1)
    if (std::optional<Error> error = uncombined(s)) return std::move(*error);
  ranks.set_tensor_ranks(mesh.tensor, s.split_invariant > 0);
  int64_t local = 0;
  if (s.mics_shard_size < 0) {
    const Json decided = HONE_TRY(ranks.decide(
        "the ranks of a machine", [&]() -> Result<Json> { return Json(ranks.local_ranks()); }));
    local = decided.get<int64_t>();
  }
  ranks.set_shard_ranks(HONE_TRY(shard_ranks(s, ranks, local)));
  return Ok{};
}

Result<int64_t> shard_ranks(const TrainSettings& s, const RunRanks& ranks, int64_t local_ranks) {
  const auto refused = [&](const std::string& what, const std::string& todo) {
    return Error(err::kMeshDoesNotFit, what)
        .at(fmt::format("--mics_shard_size {}", s.mics_shard_size))
        .todo(todo);
  };
  const int64_t all = ranks.share().ranks,
                size = s.mics_shard_size < 0 ? local_ranks : s.mics_shard_size;
  if (size == 0 || size == all || all == 1) return 0;
  if (s.zero_stage == 0)
    return refused("stage 0 of ZeRO has no states to cut", "use --zero_stage 1, 2 or 3");
  if (size == 1) return refused("a group of one rank cuts nothing", "use --zero_stage 0");
  if (all % size != 0 && ranks.full_ranks() > all) {
    if (ranks.leads())
      log_warning("{} ranks are left, which are not groups of {}: all of them cut states", all,
                  size);
    return 0;
  }
  if (all % size != 0)
    return refused(fmt::format("{} ranks are not groups of {}", all, size),
                   fmt::format("give a divisor of {}", all));
  if (!ranks.tensor().alone())
    return refused("groups of ranks do not combine with the axis 'tensor'",
                   "leave the groups or the axis out");
  return size;
}

}  // namespace hone
