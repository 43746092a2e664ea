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

// The local folder of a model; an existing path is returned unchanged. From the hub come config,
// tokenizer files and weights: safetensors, or pytorch_model.bin if there are none (never second
// copies of the weights). Uses the cache if the hub cannot be reached. Errors H0101, H0103, H0107
// to H0115.
Result<std::string> resolve_model(const std::string& name, const ResolveOptions& options = {});

// The files of a repository that resolve_model takes (exposed for tests).
std::vector<std::string> wanted_files(const std::vector<std::string>& all, bool weights,
                                      const std::vector<std::string>& also);

}  // namespace hone
