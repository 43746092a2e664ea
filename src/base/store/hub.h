// Models by name: a local folder, or a model of the Hugging Face hub kept in its usual cache.
//
//   std::string folder = HONE_TRY(resolve_model("HuggingFaceTB/SmolLM2-135M", {}));
#pragma once

#include <string>
#include <vector>

#include "base/store/hub_repository.h"

namespace hone {

struct ResolveOptions : HubOptions {
  bool weights = true;            // false: configuration and tokenizer only
  std::vector<std::string> also;  // more files, as patterns with '*' ("*.gguf")
};

// The local folder of a model; a path that exists is returned as it is. From the hub come config,
// tokenizer files and weights: safetensors, or where there are none pytorch_model.bin (never second
// copies of the weights). When the hub cannot be reached, what the cache holds is used. Errors
// H0101, H0103, H0107 to H0115.
Result<std::string> resolve_model(const std::string& name, const ResolveOptions& options = {});

// Which of a repository's files resolve_model takes (exposed for tests).
std::vector<std::string> wanted_files(const std::vector<std::string>& all, bool weights,
                                      const std::vector<std::string>& also);

}  // namespace hone
