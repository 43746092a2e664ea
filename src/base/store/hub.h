// Finds a model by name: a local folder, or a model of the Hugging Face hub, which is downloaded into the hub's usual
// cache folder.
//
//   std::string folder = HONE_TRY(resolve_model("HuggingFaceTB/SmolLM2-135M", {}));
#pragma once

#include <string>
#include <vector>

#include "base/store/hub_repository.h"

namespace hone {

struct ResolveOptions : HubOptions {
  bool weights = true;            // false: configuration and tokenizer only
  std::vector<std::string> also;  // patterns of further files to download, with '*' ("*.gguf")
};

// Returns the local folder of a model. An existing path is returned unchanged; other names are models of the hub
// (HubRepository::open). Downloads the configuration, the tokenizer files and the weights: safetensors, or
// pytorch_model.bin if there are none. Files with second copies of the weights are not downloaded. Uses the cache if
// the hub cannot be reached. Errors: H0101 if `name` is a path such as ./model that does not exist, H0115 if the
// model has no weights that hone can read, and those of HubRepository.
Result<std::string> resolve_model(const std::string& name, const ResolveOptions& options = {});

// Finds the entry of `folder` whose name is nearly `name`, for "did you mean ...". Returns "" if there is none, if
// `name` has a slash, or if the hub's cache has a model or data set `name`. A name that differs only in digits, or that
// continues `name` (gpt2-news for gpt2), is not suggested.
std::string misspelt_place(const std::string& name, const std::string& folder = ".");
// A hint for the message of H0107. A misspelt path is looked for on the hub, so the hint says: "'modell' is not a
// folder, so it is taken as a model of the hub; did you mean 'model'?". The question is left out if misspelt_place()
// finds nothing.
std::string taken_from_hub(const std::string& name, HubKind kind);

// The names among `all` (the files of a repository) that resolve_model() downloads. Public for tests.
std::vector<std::string> wanted_files(const std::vector<std::string>& all, bool weights,
                                      const std::vector<std::string>& also);

}  // namespace hone
