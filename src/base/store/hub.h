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

// The name in `folder` that `name`, which has no slash and is not there, probably means; "": none, or the cache has `name`
// as a model or data set of the hub. Names that differ in digits or in an added word, such as gpt2 and gpt2-news, are not
// misspelt.
std::string misspelt_place(const std::string& name, const std::string& folder = ".");
// "'modell' is not a folder, so it is taken as a model of the hub", with the place of this machine that it may mean: for
// readers of H0107, as a misspelt path leads to the hub.
std::string taken_from_hub(const std::string& name, HubKind kind);

// The files of a repository that resolve_model takes (exposed for tests).
std::vector<std::string> wanted_files(const std::vector<std::string>& all, bool weights,
                                      const std::vector<std::string>& also);

}  // namespace hone
