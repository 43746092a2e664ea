// A repository of the Hugging Face hub (a model or a data set) at one commit. Lists its files, and downloads files into
// the cache folder of this machine.
//   HubRepository repo = HONE_TRY(HubRepository::open(HubKind::kDataset, "wikitext", {}));
//   std::string path = HONE_TRY(repo.file("README.md"));
// Cache layout, shared with the Python library huggingface_hub (<kind> is models or datasets):
//   <cache>/<kind>--org--name/refs/<revision>          text: the commit
//   <cache>/<kind>--org--name/blobs/<etag>             content; <etag>.incomplete while loading
//   <cache>/<kind>--org--name/snapshots/<commit>/<f>   link to ../../blobs/<etag>
//   <cache>/.locks/<kind>--org--name/<etag>.lock       held while a blob is loading
// The etag is the SHA-256 of a large file, or the git blob id of a small file; hone checks it after a download. For
// data sets, hone adds the file <cache>/datasets--org--name/listings/<commit> with the names of all files of the
// commit, one a line. With it, a run without network notices that a data set is only partly cached.
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
  std::string revision = "main";  // a branch, tag or commit; name@revision takes precedence
  // The access token. Unset: HF_TOKEN, else the file HF_TOKEN_PATH or HF_HOME/token.
  std::optional<std::string> token;
  // The cache folder. "": HF_HUB_CACHE, else HF_HOME/hub, else ~/.cache/huggingface/hub.
  std::string cache_dir;
  // True: use only the cache. Unset: true if HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE or HF_DATASETS_OFFLINE is on.
  std::optional<bool> offline;
  std::string endpoint;  // the URL of the hub; "": HF_ENDPOINT, else https://huggingface.co
  bool progress = true;  // shows progress bars and notes on standard error
  HttpClient::Options http = {};
};

// The values in effect, from the options and the environment.
std::string hub_cache_folder(const HubOptions& options = {});
std::string hub_token(const HubOptions& options = {});     // "": none
std::string hub_endpoint(const HubOptions& options = {});  // without a slash at the end
bool hub_offline(const HubOptions& options = {});

enum class HubKind { kModel, kDataset };
// The word for a local model of this name in messages: "file" for a name with .gguf, else "folder".
inline const char* place_kind(std::string_view name) {
  return name.ends_with(".gguf") ? "file" : "folder";
}

class HubRepository {
 public:
  // Returns true if the cached files of a commit are enough, so that the hub need not be asked. Arguments: the folder
  // of the commit, and the names of its cached files.
  using Enough = std::function<bool(const std::string& snapshot, const std::vector<std::string>&)>;

  // Opens a repository. `name` is org/name or name; @revision may follow, and hf:// or hf://datasets/ may come first.
  // Asks the hub for the commit of the revision. The cache is used instead if it has `enough` files (default: any file)
  // and if the options say offline, the hub cannot be reached, or the revision is a commit. Finds renamed repositories.
  // Errors: H0107 the hub cannot be reached, H0108 it answers with an error, H0109 the user asked to stop, H0110 there
  // is no such repository or revision, H0111 access is not granted, H0112 offline and not in the cache, H0114 `name` is
  // not a valid name, H0001 or H0002 the hub's answer is not JSON.
  static Result<HubRepository> open(HubKind kind, const std::string& name,
                                    const HubOptions& options, const Enough& enough = {});

  const std::string& id() const { return id_; }          // the name as given; the cache uses it
  const std::string& hub_id() const { return hub_id_; }  // the current name on the hub
  const std::string& revision() const { return revision_; }
  const std::string& commit() const { return commit_; }
  bool from_cache() const { return from_cache_; }  // true: the commit came from the cache
  // The names of the files of the commit, sorted. With from_cache() these may be only the cached files.
  const std::vector<std::string>& files() const { return files_; }
  bool has(const std::string& file) const;                           // files() has this name
  std::string snapshot() const { return cache_.snapshot(commit_); }  // the folder of the files

  // The local path of one of files(). Downloads the file if the cache does not have it. Errors: H0103 no space is left,
  // H0113 the file arrives damaged twice, and H0107 to H0112 with the meanings that open() gives.
  Result<std::string> file(const std::string& file);
  // Records in the cache that the revision means this commit, for later runs without the hub.
  Status remember() const { return cache_.remember(revision_, commit_); }

 private:
  struct FileInfo {
    std::string etag;
    int64_t bytes = -1;  // -1: unknown
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
