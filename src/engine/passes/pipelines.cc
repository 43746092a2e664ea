#include "engine/passes/pipelines.h"

#include "engine/passes/differentiate.h"
#include "engine/passes/fuse.h"
#include "engine/passes/fuse_slopes.h"
#include "engine/passes/fuse_sums.h"
#include "engine/passes/remake.h"
#include "engine/passes/round_sums.h"
#include "engine/passes/schedule.h"
#include "engine/passes/simplify.h"

namespace hone {

namespace {

// Programs in f32 are listed without a pass that would do nothing.
std::vector<Pass> begin(Precision precision, const TensorSplit& tensor = {}) {
  std::vector<Pass> passes;
  if (tensor.any())
    passes.push_back({"tensor_split", PassKind::numeric,
                      [tensor](Program& p) { return tensor_split(p, tensor); }});
  // Removes repetitions of the builder.
  passes.push_back({"simplify", PassKind::numeric, simplify_forward});
  if (precision != Precision::f32)
    passes.push_back({"precision", PassKind::numeric,
                      [precision](Program& p) { return set_precision(p, precision); }});
  passes.push_back({"fuse_forward", PassKind::numeric, [](Program& p) {
                      return fuse_forward(
                          p);  // before differentiate: composites keep their gradients
                    }});
  return passes;
}

void add_sync(std::vector<Pass>& passes, const TrainPasses& how) {
  if (!how.sync.alone())
    passes.push_back({"sync_batch_norms", PassKind::numeric,
                      [ranks = how.sync](Program& p) { return sync_batch_norms(p, ranks); }});
}

void add_narrow(std::vector<Pass>& passes, const TrainPasses& how) {
  if (!how.in_bf16.empty())
    passes.push_back({"narrow_weights", PassKind::numeric,
                      [weights = how.in_bf16](Program& p) { return narrow_weights(p, weights); }});
}

void add_drop_sums(std::vector<Pass>& passes, const TrainPasses& how) {
  if (how.tensor.any())
    passes.push_back({"drop_sum_gradients", PassKind::numeric, drop_sum_gradients});
}

// After gradients: those that nobody asked for go, the others are added in place.
void end(std::vector<Pass>& passes) {
  passes.push_back({"simplify_gradient", PassKind::numeric, simplify});
  passes.push_back(
      {"fuse_accumulate", PassKind::numeric, [](Program& p) { return fuse_accumulate(p); }});
  passes.push_back({"simplify_last", PassKind::numeric, simplify});
}

void add_narrow_values(std::vector<Pass>& passes, const TrainPasses& how) {
  if (!how.narrows()) return;
  passes.push_back({"narrow_values", PassKind::numeric,
                    [as = how.stored](Program& p) { return narrow_values(p, as); }});
  passes.push_back({"remake", PassKind::numeric, remake});
  passes.push_back({"fuse_sums", PassKind::numeric, fuse_sums});
  if (how.fuses_slopes) passes.push_back({"fuse_slopes", PassKind::numeric, fuse_slopes});
}

void add_stored(std::vector<Pass>& passes, const TrainPasses& how) {
  add_narrow_values(passes, how);
  if (how.stored != DType::f32)
    passes.push_back({"store_activations", PassKind::numeric,
                      [as = how.stored, saturate = how.saturate](Program& p) {
                        return store_activations(p, as, saturate);
                      }});
  if (how.narrows()) passes.push_back({"round_sums", PassKind::numeric, round_sums});
}
void add_copies(std::vector<Pass>& passes, const TrainPasses& how) {
  if (how.copies.empty() || how.sharding.any()) return;
  passes.push_back({"compute_copies", PassKind::numeric,
                    [weights = how.copies, as = how.copies_as(), kind = how.kind_of_copies()](
                        Program& p) { return compute_copies(p, weights, as, kind); }});
}
// Collectives for ranks 0, 1, ... of an axis become those of its ranks in the run.
Result<bool> name_members(Program& p, const TrainPasses::Axis& axis) {
  bool any = false;
  for (Node& n : p.nodes) {
    const bool is_of_axis = n.op->traffic && n.attrs.integer("ranks") == axis.ranks &&
                            !n.attrs.has("first") && !n.attrs.has("stride");
    if (!is_of_axis) continue;
    n.attrs.set("first", axis.first);
    n.attrs.set("stride", axis.stride);
    any = true;
  }
  return any;
}

void add_members(std::vector<Pass>& passes, const TrainPasses& how, const char* name,
                 PassKind kind) {
  if (how.data.ranks > 0)
    passes.push_back({name, kind, [axis = how.data](Program& p) { return name_members(p, axis); }});
}

void add_division(std::vector<Pass>& passes, const TrainPasses& how) {
  if (how.division.any())
    passes.push_back({"divide_rows", PassKind::numeric,
                      [to = how.division](Program& p) { return divide_rows(p, to); }});
}

void add_recompute(std::vector<Pass>& passes, const Recompute& how) {
  if (how.any())
    passes.push_back(
        {"recompute", PassKind::placement, [how](Program& p) { return recompute(p, how); }});
}

// Shards and offloads.
void add_places(std::vector<Pass>& passes, const TrainPasses& how) {
  if (how.sharding.any())
    passes.push_back(
        {"shard", PassKind::placement, [to = how.sharding](Program& p) { return shard(p, to); }});
  // Those of the weights' rows, which change no bit.
  if (how.sharding.any()) add_members(passes, how, "name_members_of_shards", PassKind::placement);
  if (how.offload.any())
    passes.push_back({"offload", PassKind::placement,
                      [to = how.offload](Program& p) { return offload(p, to); }});
}

}  // namespace

std::vector<Pass> train_pipeline(bool accumulate, const TrainPasses& how,
                                 std::function<Result<bool>(Program&)> share) {
  std::vector<Pass> passes = begin(how.precision, how.tensor);
  const Gradients as = share ? Gradients::values : accumulate ? Gradients::sums : Gradients::states;
  passes.push_back({"differentiate", PassKind::numeric,
                    [as, kept = how.gradients, in_bf16 = how.in_bf16](Program& p) {
                      return differentiate(p, as, kept, in_bf16);
                    }});
  add_drop_sums(passes, how);
  add_sync(passes, how);
  add_narrow(passes, how);
  if (share) passes.push_back({"share_gradients", PassKind::numeric, std::move(share)});
  end(passes);
  add_stored(passes, how);
  add_copies(passes, how);
  add_members(passes, how, "name_members", PassKind::numeric);
  add_division(passes, how);
  add_recompute(passes, how.recompute);
  add_places(passes, how);
  return passes;
}

std::vector<Pass> step_pipeline(std::function<Result<bool>(Program&)> update,
                                const TrainPasses& how) {
  std::vector<Pass> passes = begin(how.precision, how.tensor);
  passes.push_back({"differentiate", PassKind::numeric,
                    [kept = how.gradients, in_bf16 = how.in_bf16](Program& p) {
                      return differentiate(p, Gradients::values, kept, in_bf16);
                    }});
  add_drop_sums(passes, how);
  add_sync(passes, how);
  add_narrow(passes, how);
  passes.push_back({"update", PassKind::numeric, std::move(update)});
  end(passes);
  add_stored(passes, how);
  add_copies(passes, how);
  add_members(passes, how, "name_members", PassKind::numeric);
  add_division(passes, how);
  add_recompute(passes, how.recompute);
  passes.push_back({"schedule", PassKind::placement, schedule});
  add_places(passes, how);
  return passes;
}

std::vector<Pass> update_pipeline(const TrainPasses& how) {
  std::vector<Pass> passes = begin(Precision::f32);
  passes.push_back({"simplify_last", PassKind::numeric, simplify});
  add_copies(passes, how);
  add_members(passes, how, "name_members", PassKind::numeric);
  add_places(passes, how);
  return passes;
}

std::vector<Pass> forward_pipeline(WeightStorage weights, const TrainPasses& how) {
  std::vector<Pass> passes = begin(how.precision, how.tensor);
  add_drop_sums(passes, how);
  add_narrow(passes, how);
  passes.push_back({"simplify_last", PassKind::numeric, simplify});
  add_narrow_values(passes, how);
  if (weights != WeightStorage::f32)
    passes.push_back({"store_weights", PassKind::numeric,
                      [weights](Program& p) { return store_weights(p, weights); }});
  add_copies(passes, how);
  add_members(passes, how, "name_members", PassKind::numeric);
  add_division(passes, how);
  add_places(passes, how);
  return passes;
}

}  // namespace hone
