// A repository of the Hugging Face hub, model or data set, at one commit: the list of its files,
// and each file on this machine through the cache.
//   HubRepository repo = HONE_TRY(HubRepository::open(HubKind::kDataset, "wikitext", {}));
//   std::string path = HONE_TRY(repo.file("README.md"));
// Cache layout, shared with the Python library huggingface_hub (<kind> is models or datasets):
//   <cache>/<kind>--org--name/refs/<revision>          text: the commit
//   <cache>/<kind>--org--name/blobs/<etag>             content; <etag>.incomplete while loading
//   <cache>/<kind>--org--name/snapshots/<commit>/<f>   link to ../../blobs/<etag>
//   <cache>/.locks/<kind>--org--name/<etag>.lock       held while a blob is loading
// The etag is the SHA-256 of a large file or the git blob id of a small one; both are checked. For
// data sets hone adds <cache>/datasets--org--name/listings/<commit>: the names of all files, one a
// line, so that a partial data set is noticed offline.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/store/http.h"
#include "base/store/hub_cache.h"

namespace hone {

struct HubOptions {
  std::string revision = "main";     // branch, tag or commit; name@revision takes precedence
  std::optional<std::string> token;  // else HF_TOKEN, else the file HF_TOKEN_PATH or HF_HOME/token
  std::string cache_dir;             // else HF_HUB_CACHE, else HF_HOME/hub, else ~/.cache/...
  std::optional<bool> offline;  // else HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE, HF_DATASETS_OFFLINE
  std::string endpoint;         // else HF_ENDPOINT, else https://huggingface.co
  bool progress = true;         // bars and notes on standard error
  HttpClient::Options http = {};
};

// The cache folder of the options and the environment.
std::string hub_cache_folder(const HubOptions& options = {});
std::string hub_token(const HubOptions& options = {});  // "": none
std::string hub_endpoint(const HubOptions& options = {});
bool hub_offline(const HubOptions& options = {});

enum class HubKind { kModel, kDataset };
// "file" if the name is that of a model file, else "folder".
inline const char* place_kind(std::string_view name) {
  return name.ends_with(".gguf") ? "file" : "folder";
}

class HubRepository {
 public:
  // Whether the files of a snapshot suffice without asking the hub.
  using Enough = std::function<bool(const std::string& snapshot, const std::vector<std::string>&)>;

  // Opens org/name or name, with @revision; hf:// or hf://datasets/ may precede it. Asks the hub
  // for the commit of the revision; uses the cache when offline, when the hub cannot be reached,
  // and for a commit, if it holds `enough` (by default: any file). Follows renamed repositories.
  // Errors H0107 to H0114.
  static Result<HubRepository> open(HubKind kind, const std::string& name,
                                    const HubOptions& options, const Enough& enough = {});

  const std::string& id() const { return id_; }          // as typed: the cache keeps this name
  const std::string& hub_id() const { return hub_id_; }  // its current name on the hub
  const std::string& revision() const { return revision_; }
  const std::string& commit() const { return commit_; }
  bool from_cache() const { return from_cache_; }                   // the hub was not asked
  const std::vector<std::string>& files() const { return files_; }  // sorted
  bool has(const std::string& file) const;
  std::string snapshot() const { return cache_.snapshot(commit_); }

  // The local path of one of files(), downloaded if the cache lacks it. Errors H0103, H0107 to
  // H0113.
  Result<std::string> file(const std::string& file);
  // Records that the revision means this commit, for later runs without the hub.
  Status remember() const { return cache_.remember(revision_, commit_); }

 private:
  struct FileInfo {
    std::string etag;
    int64_t bytes = -1;
  };
  HubRepository(HubKind kind, std::string given, std::string id, std::string revision,
                const HubOptions& options);
  Status find_commit(const Enough& enough);
  Status read_answer(const HttpResponse& answer, const std::string& url);
  Error not_cached(const std::vector<std::string>& have) const;
  Error refused(const HttpResponse& response) const;
  Result<FileInfo> look_at(std::string url);
  Status fetch(const std::string& file);
  Status check_space(const std::string& partial, const FileInfo& info,
                     const std::string& file) const;
  Status load(const std::string& url, const std::string& partial, const FileInfo& info,
              const std::string& file);
  const char* noun() const { return kind_ == HubKind::kModel ? "model" : "data set"; }

  HubKind kind_;
  std::string given_, id_, hub_id_, revision_, commit_;
  HubOptions options_;
  std::string token_, endpoint_;
  HubCache cache_;
  std::unique_ptr<HttpClient> http_;
  HttpHeaders headers_;
  std::vector<std::string> files_;
  bool from_cache_ = false;
};

}  // namespace hone
