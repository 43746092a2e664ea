// Repeats an evaluation with another model: runs hone eval in a child process with the settings of an earlier
// evaluation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operate/registry/evaluation.h"
#include "operate/registry/registry.h"

namespace hone {

struct EvaluateLike {
  const ModelVersion& version;  // the version to evaluate
  // The candidate of the decision (hone models decide). If the evaluation fails, the error's remedy says how to promote
  // this version by hand.
  const ModelVersion& decided;
  int64_t rows = 0;                    // evaluates only the first rows, this number of them; 0: all
  std::vector<std::string> more = {};  // further flags for hone eval
};
// Evaluates a version with the settings of the evaluation `like`. Errors: H3142 `like` has no settings; H3011 hone eval
// failed.
Result<Evaluation> evaluate_like(const Evaluation& like, const EvaluateLike& asked);

// A copy of `like` whose settings name the original files instead of the token shards that were made from these files,
// so that a model with another tokenizer can be evaluated. nullopt: `like` did not read shards, or the original files
// no longer exist.
std::optional<Evaluation> files_of_shards(const Evaluation& like);

}  // namespace hone
