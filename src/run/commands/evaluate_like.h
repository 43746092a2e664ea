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
  // The version about which a decision is made. The remedy of a failure says how to promote it by hand.
  const ModelVersion& decided;
  int64_t rows = 0;                    // evaluates only this number of rows, from the first; 0: all
  std::vector<std::string> more = {};  // further flags for hone eval
};
// Evaluates a version with the settings of the evaluation `like`. Errors: H3142 `like` has no settings; H3011 hone eval
// failed.
Result<Evaluation> evaluate_like(const Evaluation& like, const EvaluateLike& asked);

// A copy of `like` whose settings read the original files instead of the token shards that were made from them, so that
// a model with another tokenizer can be evaluated. nullopt: `like` did not read shards, or the files are gone.
std::optional<Evaluation> files_of_shards(const Evaluation& like);

}  // namespace hone
