// Evaluations as others were made: hone eval in a process of its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operate/registry/evaluation.h"
#include "operate/registry/registry.h"

namespace hone {

struct EvaluateLike {
  const ModelVersion& version;  // to evaluate
  const ModelVersion& decided;  // whose decision needs it: a failure says how to promote it by hand
  int64_t rows = 0;             // the first rows alone; 0: all
  std::vector<std::string> more = {};  // flags
};
// The version with the settings of `like`. Errors: H3142 `like` has no settings; H3011 hone eval failed.
Result<Evaluation> evaluate_like(const Evaluation& like, const EvaluateLike& asked);

// `like` with settings that read, in place of token shards, the files that these were made from: this is how models with other
// tokenizers can be evaluated. None: it read no shards, or the files are gone.
std::optional<Evaluation> files_of_shards(const Evaluation& like);

}  // namespace hone
