#include "engine/passes/pipelines.h"

#include "engine/passes/differentiate.h"
#include "engine/passes/fuse.h"
#include "engine/passes/simplify.h"

namespace hone {

std::vector<Pass> train_pipeline(bool accumulate) {
  return {
      {"simplify", PassKind::numeric, simplify},  // what the builder wrote twice
      {"fuse_forward", PassKind::numeric,
       fuse_forward},  // before differentiate: composites keep their gradients
      {"differentiate", PassKind::numeric,
       [accumulate](Program& p) { return differentiate(p, accumulate); }},
      {"simplify_gradient", PassKind::numeric, simplify},  // gradients nobody asked for
      {"fuse_accumulate", PassKind::numeric, fuse_accumulate},
      {"simplify_last", PassKind::numeric, simplify},
  };
}

std::vector<Pass> forward_pipeline(WeightStorage weights) {
  std::vector<Pass> passes{
      {"simplify", PassKind::numeric, simplify},
      {"fuse_forward", PassKind::numeric, fuse_forward},
      {"simplify_last", PassKind::numeric, simplify},
  };
  if (weights != WeightStorage::f32)
    passes.push_back({"store_weights", PassKind::numeric,
                      [weights](Program& p) { return store_weights(p, weights); }});
  return passes;
}

}  // namespace hone
