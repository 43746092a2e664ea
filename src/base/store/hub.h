// Models by name: a local folder, or a model of the Hugging Face hub kept in its usual cache.
//
//   std::string folder = HONE_TRY(resolve_model("HuggingFaceTB/SmolLM2-135M", {}));
//
// Cache layout, shared with the Python library huggingface_hub:
//   <cache>/models--org--name/refs/<revision>          text: the commit
//   <cache>/models--org--name/blobs/<etag>             content; <etag>.incomplete while loading
//   <cache>/models--org--name/snapshots/<commit>/<f>   link to ../../blobs/<etag>
//   <cache>/.locks/models--org--name/<etag>.lock       held while a blob is loading
// where an etag is the SHA-256 of a large file or the git blob id of a small one; both are checked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/store/http.h"

namespace hone {

struct ResolveOptions {
  std::string revision = "main";     // branch, tag or commit; name@revision goes before it
  std::optional<std::string> token;  // else HF_TOKEN, else the file HF_TOKEN_PATH or HF_HOME/token
  std::string cache_dir;             // else HF_HUB_CACHE, else HF_HOME/hub, else ~/.cache/...
  std::optional<bool> offline;       // else HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE
  std::string endpoint;              // else HF_ENDPOINT, else https://huggingface.co
  bool weights = true;               // false: configuration and tokenizer only
  std::vector<std::string> also;     // more files, as patterns with '*' ("*.gguf")
  bool progress = true;              // bars and notes on standard error
  HttpClient::Options http = {};
};

// The local folder of a model; a path that exists is returned as it is. From the hub come config,
// tokenizer files and safetensors weights (never pickles, nor second copies of the weights). When
// the hub cannot be reached, what the cache holds is used. Errors H0103, H0107 to H0115.
Result<std::string> resolve_model(const std::string& name, const ResolveOptions& options = {});

// Which of a repository's files resolve_model takes (exposed for tests).
std::vector<std::string> wanted_files(const std::vector<std::string>& all, bool weights,
                                      const std::vector<std::string>& also);

}  // namespace hone
