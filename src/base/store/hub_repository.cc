#include "base/store/hub_repository.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/core/json.h"
#include "base/core/log.h"
#include "base/core/text.h"
#include "base/store/errors.h"
#include "base/store/hash.h"
#include "base/store/store.h"

namespace hone {
namespace {

constexpr int64_t kMostListing = int64_t{64} << 20;  // bytes of a repository's list of files

bool is_set(const char* name) {
  std::string v = to_lower(environment(name));
  return v == "1" || v == "on" || v == "yes" || v == "true";
}
std::string hub_home() {
  if (std::string h = environment("HF_HOME"); !h.empty()) return h;
  if (std::string x = environment("XDG_CACHE_HOME"); !x.empty()) return x + "/huggingface";
  return environment("HOME") + "/.cache/huggingface";
}

// org/name or name: letters, digits, '.', '_', '-'.
bool is_repository_name(const std::string& id) {
  std::vector<std::string> parts = split(id, '/');
  return parts.size() <= 2 && id.size() <= 96 && id.find("--") == std::string::npos &&
         id.find("..") == std::string::npos &&
         std::all_of(parts.begin(), parts.end(), [](const std::string& p) {
           return !p.empty() && p[0] != '.' && p[0] != '-' &&
                  std::all_of(p.begin(), p.end(), [](char c) {
                    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ||
                           c == '-';
                  });
         });
}

// A path that stays inside its folder.
bool is_inner_path(const std::string& path) {
  for (const std::string& part : split(path, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return path.find('\n') == std::string::npos && path.find('\0') == std::string::npos;
}

// "" if the file matches its etag.
Result<std::string> difference(const std::string& path, const std::string& etag, int64_t wanted) {
  int64_t bytes = HONE_TRY(file_store().bytes(path));
  if (wanted >= 0 && bytes != wanted) {
    return fmt::format("{} bytes instead of {}", bytes, wanted);
  }
  std::string sum = etag;
  if (etag.size() == 64) sum = HONE_TRY(sha256_of_file(file_store(), path));
  if (is_commit(etag)) sum = HONE_TRY(git_blob_id_of_file(file_store(), path));
  if (sum == etag) return std::string();
  return fmt::format("its checksum is {} instead of {}", sum, etag);
}

}  // namespace

std::string hub_cache_folder(const HubOptions& o) {
  if (!o.cache_dir.empty()) return o.cache_dir;
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (std::string c = environment(name); !c.empty()) return c;
  }
  return hub_home() + "/hub";
}
std::string hub_token(const HubOptions& o) {
  if (o.token) return *o.token;
  if (is_set("HF_HUB_DISABLE_IMPLICIT_TOKEN")) return "";
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    if (std::string t(trim(environment(name))); !t.empty()) return t;
  }
  std::string path = environment("HF_TOKEN_PATH");
  Result<std::string> text = file_store().read(path.empty() ? hub_home() + "/token" : path);
  return text.ok() ? std::string(trim(*text)) : "";
}
std::string hub_endpoint(const HubOptions& o) {
  std::string endpoint = !o.endpoint.empty() ? o.endpoint : environment("HF_ENDPOINT");
  if (endpoint.empty()) endpoint = "https://huggingface.co";
  while (endpoint.ends_with("/")) endpoint.pop_back();
  return endpoint;
}
bool hub_offline(const HubOptions& o) {
  return o.offline.value_or(is_set("HF_HUB_OFFLINE") || is_set("TRANSFORMERS_OFFLINE") ||
                            is_set("HF_DATASETS_OFFLINE"));
}

HubRepository::HubRepository(HubKind kind, std::string given, std::string id, std::string revision,
                             const HubOptions& options)
    : kind_(kind),
      given_(std::move(given)),
      id_(std::move(id)),
      hub_id_(id_),
      revision_(std::move(revision)),
      options_(options),
      token_(hub_token(options)),
      endpoint_(hub_endpoint(options)),
      cache_(hub_cache_folder(options), (kind == HubKind::kModel ? "models/" : "datasets/") + id_),
      http_(std::make_unique<HttpClient>([&] {
        HttpClient::Options http = options.http;
        http.most_body_bytes = std::min(http.most_body_bytes, kMostListing);
        return http;
      }())) {
  if (!token_.empty()) headers_["authorization"] = "Bearer " + token_;
  headers_["accept-encoding"] = "identity";  // sizes and ranges of the files themselves
}

Result<HubRepository> HubRepository::open(HubKind kind, const std::string& name,
                                          const HubOptions& options, const Enough& enough) {
  std::string_view rest = name;
  if (rest.starts_with("hf://")) rest.remove_prefix(5);
  if (kind == HubKind::kDataset && rest.starts_with("datasets/") && rest.size() < name.size())
    rest.remove_prefix(9);
  std::string id(rest), revision = options.revision;
  if (size_t at = rest.find('@'); at != std::string_view::npos) {
    id = rest.substr(0, at);
    revision = rest.substr(at + 1);
  }
  if (!is_repository_name(id) || revision.empty() || revision[0] == '/' ||
      revision.find("..") != std::string::npos) {
    return Error(err::kHubName, fmt::format("'{}' is neither an existing {} nor a hub name", name,
                                            place_kind(name)))
        .todo(kind == HubKind::kModel
                  ? "give the path of a model folder, or a name such as gpt2 or org/name or "
                    "hf://org/name@revision"
                  : "give the path of a folder or file, or a name such as wikitext or org/name or "
                    "hf://datasets/org/name@revision");
  }
  HubRepository repo(kind, name, std::move(id), std::move(revision), options);
  HONE_TRY(repo.find_commit(enough));
  return repo;
}

bool HubRepository::has(const std::string& file) const {
  return std::binary_search(files_.begin(), files_.end(), file);
}

Status HubRepository::find_commit(const Enough& enough) {
  std::optional<std::string> known = cache_.commit_of(revision_);
  std::vector<std::string> cached;
  bool usable = false;
  if (known) {
    cached = cache_.files(*known);
    std::optional<std::vector<std::string>> listing = cache_.listing(*known);
    usable = enough ? enough(cache_.snapshot(*known), cached) : listing || !cached.empty();
    if (listing) cached = std::move(*listing);
  }
  auto use_cache = [&]() -> Status {
    commit_ = *known;
    files_ = std::move(cached);
    from_cache_ = true;
    return Ok{};
  };
  if (hub_offline(options_)) {
    if (usable) return use_cache();
    return not_cached(cached);
  }
  // A commit never changes: with what is needed there, the hub has nothing to add.
  bool fixed = is_commit(revision_) && (enough || cache_.listing(revision_));
  if (usable && fixed) return use_cache();
  if (usable) http_->set_retries(0);
  std::string url =
      fmt::format("{}/api/{}/{}/revision/{}", endpoint_,
                  kind_ == HubKind::kModel ? "models" : "datasets", id_, url_encoded(revision_));
  Result<HttpResponse> answer = http_->get(url, headers_);
  http_->set_retries(options_.http.retries);
  bool out_of_order = answer.ok() && answer->status >= 500;
  if (usable && (out_of_order || (!answer.ok() && answer.error().is(err::kNetwork)))) {
    if (options_.progress) log_warning("the hub cannot be reached: using {} from the cache", id_);
    return use_cache();
  }
  if (!answer.ok()) return std::move(answer.error());
  if (answer->status != 200) return refused(*answer);
  return read_answer(*answer, url);
}

Status HubRepository::read_answer(const HttpResponse& answer, const std::string& url) {
  Json info = HONE_TRY(parse_json(answer.body, url));
  if (info.is_object() && info.contains("sha") && info["sha"].is_string()) commit_ = info["sha"];
  if (!is_commit(commit_) || !info.contains("siblings") || !info["siblings"].is_array()) {
    return Error(err::kHttpStatus, "the answer does not come from a model hub")
        .at(url)
        .todo("check HF_ENDPOINT");
  }
  if (info.contains("id") && info["id"].is_string()) hub_id_ = info["id"];
  for (const Json& s : info["siblings"]) {
    if (s.is_object() && s.contains("rfilename") && s["rfilename"].is_string() &&
        is_inner_path(s["rfilename"]))
      files_.push_back(s["rfilename"]);
  }
  std::sort(files_.begin(), files_.end());
  return kind_ == HubKind::kDataset ? cache_.remember_listing(commit_, files_) : Ok{};
}

Result<std::string> HubRepository::file(const std::string& file) {
  std::string path = snapshot() + "/" + file;
  if (cache_.has(commit_, file)) return path;
  if (hub_offline(options_)) return not_cached(cache_.files(commit_)).at(file);
  HONE_TRY(fetch(file));
  return path;
}

Error HubRepository::not_cached(const std::vector<std::string>& have) const {
  std::vector<std::string> some(have.begin(),
                                have.begin() + std::min<ptrdiff_t>(8, std::ssize(have)));
  std::string what =
      have.empty() ? "" : fmt::format(": {}{}", join(some, ", "), have.size() > 8 ? ", ..." : "");
  return Error(
             err::kHubOffline,
             fmt::format("'{}' is not a local {}, and the cache {} revision '{}' of it{}", given_,
                         place_kind(given_),
                         have.empty() ? "does not hold" : "holds only a part of", revision_, what))
      .at(fmt::format("cache {}", hub_cache_folder(options_)))
      .todo(fmt::format("run once with network (HF_HUB_OFFLINE=0), or give the path of a {}",
                        kind_ == HubKind::kModel ? "model folder" : "folder or file"));
}

Error HubRepository::refused(const HttpResponse& r) const {
  bool token = !token_.empty();
  std::string code = r.header("x-error-code"), message = r.header("x-error-message");
  std::string said = message.empty() ? "" : fmt::format(" ({})", message);
  if (code == "GatedRepo" || r.status == 403 || (r.status == 401 && token)) {
    return Error(err::kHubGated,
                 fmt::format("the hub refuses access to '{}': status {}{}", id_, r.status, said))
        .at(r.url)
        .todo(token ? "ask for access on its page with the account of your token, or check "
                      "that the token is right and may read it"
                    : "accept the terms on its page, make a token in your hub settings and "
                      "set HF_TOKEN");
  }
  if (code == "RevisionNotFound") {
    return Error(err::kHubMissing,
                 fmt::format("'{}' has no revision '{}' on the hub", id_, revision_))
        .at(r.url)
        .todo("its page lists branches, tags and commits under Files");
  }
  if (r.status == 401 || r.status == 404) {
    return Error(err::kHubMissing,
                 fmt::format("'{}' is neither a local folder nor a {} of the hub{}", given_, noun(),
                             said))
        .at(r.url)
        .todo(token ? "check the spelling of the path or name"
                    : "check the spelling of the path or name; a private one needs HF_TOKEN");
  }
  return Error(err::kHttpStatus, fmt::format("the hub answered with status {}{}", r.status, said))
      .at(r.url)
      .todo("try again later; HF_HUB_OFFLINE=1 uses the cache");
}

// HEAD, following redirects within the hub (renamed models); one to where the content is comes
// with all that is asked.
Result<HubRepository::FileInfo> HubRepository::look_at(std::string url) {
  for (int redirects = 0;; ++redirects) {
    HttpResponse r = HONE_TRY(http_->head(url, headers_));
    std::string location = r.header("location");
    bool redirect = r.status >= 300 && r.status < 400;
    bool linked = !r.header("x-linked-etag").empty();
    if (location.starts_with("/") && !location.starts_with("//")) {
      location = url.substr(0, url.find('/', url.find("://") + 3)) + location;
    }
    if (redirect && !linked && location.starts_with(endpoint_ + "/") && redirects < 10) {
      url = location;
      continue;
    }
    if (!redirect && r.status != 200) return refused(r);
    FileInfo f;
    f.etag = r.header(linked ? "x-linked-etag" : "etag");
    if (f.etag.starts_with("W/")) f.etag.erase(0, 2);
    std::erase(f.etag, '"');
    std::string size = r.header("x-linked-size");
    if (size.empty() && !redirect) size = r.header("content-length");
    std::from_chars(size.data(), size.data() + size.size(), f.bytes);
    bool plain = !f.etag.empty() && f.etag.size() <= 128 &&
                 std::all_of(f.etag.begin(), f.etag.end(),
                             [](unsigned char c) { return std::isalnum(c) || c == '-'; });
    if (plain) return f;
    return Error(err::kHttpStatus, fmt::format("the hub gave no usable etag: '{}'", f.etag))
        .at(url);
  }
}

Status HubRepository::fetch(const std::string& file) {
  std::string url =
      fmt::format("{}/{}{}/resolve/{}/{}", endpoint_, kind_ == HubKind::kModel ? "" : "datasets/",
                  id_, commit_, url_encoded(file, "/"));
  FileInfo info = HONE_TRY(look_at(url));
  HubCache::Lock lock = HONE_TRY(cache_.lock(info.etag));
  if (!cache_.has_blob(info.etag)) {
    std::string partial = cache_.blob(info.etag) + ".incomplete";
    HONE_TRY(file_store().make_dirs(std::filesystem::path(partial).parent_path().string()));
    HONE_TRY(check_space(partial, info, file));
    Status good = load(url, partial, info, file);
    if (!good.ok() && good.error().is(err::kChecksum)) {
      good = load(url, partial, info, file);  // what a broken transfer left is gone: once more
    }
    HONE_TRY(std::move(good));
    HONE_TRY(file_store().rename(partial, cache_.blob(info.etag)));
  }
  return cache_.link(commit_, file, info.etag);
}

Status HubRepository::check_space(const std::string& partial, const FileInfo& info,
                                  const std::string& file) const {
  std::error_code error;
  auto space = std::filesystem::space(std::filesystem::path(partial).parent_path(), error);
  Store::Info have = HONE_TRY(file_store().info(partial));
  if (error || info.bytes < 0 || static_cast<int64_t>(space.available) > info.bytes - have.bytes)
    return Ok{};
  return Error(err::kStoreFull, fmt::format("{} of {} needs {}, {} are free", file, id_,
                                            format_bytes(info.bytes - have.bytes),
                                            format_bytes(static_cast<int64_t>(space.available))))
      .at(hub_cache_folder(options_))
      .todo("free some space or choose another cache folder with HF_HUB_CACHE or --cache_dir");
}

// Appends to `partial` until it holds the file, then checks it; a damaged one is removed.
Status HubRepository::load(const std::string& url, const std::string& partial, const FileInfo& info,
                           const std::string& file) {
  int64_t have = HONE_TRY(file_store().info(partial)).bytes;
  if (info.bytes >= 0 && have > info.bytes) {
    HONE_TRY(file_store().remove(partial));
    have = 0;
  }
  if (have != info.bytes || have == 0) {
    std::unique_ptr<Writer> writer = HONE_TRY(file_store().append(partial));
    Progress::Options bar_options;
    bar_options.start = have;
    bar_options.bytes = true;
    std::optional<Progress> bar;
    if (options_.progress && info.bytes > (1 << 20)) bar.emplace(file, info.bytes, bar_options);
    int64_t end = have;
    HttpClient::Sink sink = [&](int64_t at, std::string_view bytes) -> Status {
      if (at != end) {  // the server began again
        writer.reset();
        HONE_TRY(file_store().remove(partial));
        writer = HONE_TRY(file_store().append(partial));
        end = at;
      }
      HONE_TRY(writer->write(bytes));
      end += static_cast<int64_t>(bytes.size());
      if (bar) bar->update(end);
      return Ok{};
    };
    HttpResponse r = HONE_TRY(http_->download(url, headers_, have, sink));
    if (r.status != 200 && r.status != 206) return refused(r);
    HONE_TRY(writer->commit());
  }
  std::string wrong = HONE_TRY(difference(partial, info.etag, info.bytes));
  if (wrong.empty()) return Ok{};
  HONE_TRY(file_store().remove(partial));
  return Error(err::kChecksum, fmt::format("{} of {} arrived damaged: {}", file, id_, wrong))
      .at(url)
      .todo("try again; if it happens again, a proxy or mirror changes the file: try without it");
}

}  // namespace hone
