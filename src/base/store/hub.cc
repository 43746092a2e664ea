#include "base/store/hub.h"

#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "base/core/json.h"
#include "base/core/log.h"
#include "base/core/text.h"
#include "base/store/errors.h"
#include "base/store/hash.h"
#include "base/store/hub_cache.h"
#include "base/store/store.h"

namespace hone {
namespace {

std::string variable(const char* name) {
  const char* v = std::getenv(name);
  return v ? v : "";
}
bool is_set(const char* name) {
  std::string v = to_lower(variable(name));
  return v == "1" || v == "on" || v == "yes" || v == "true";
}
std::string hub_home() {
  if (std::string h = variable("HF_HOME"); !h.empty()) return h;
  if (std::string x = variable("XDG_CACHE_HOME"); !x.empty()) return x + "/huggingface";
  return variable("HOME") + "/.cache/huggingface";
}
std::string cache_folder(const ResolveOptions& o) {
  if (!o.cache_dir.empty()) return o.cache_dir;
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (std::string c = variable(name); !c.empty()) return c;
  }
  return hub_home() + "/hub";
}
std::string access_token(const ResolveOptions& o) {
  if (o.token) return *o.token;
  if (is_set("HF_HUB_DISABLE_IMPLICIT_TOKEN")) return "";
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    if (std::string t(trim(variable(name))); !t.empty()) return t;
  }
  std::string path = variable("HF_TOKEN_PATH");
  Result<std::string> text = file_store().read(path.empty() ? hub_home() + "/token" : path);
  return text.ok() ? std::string(trim(*text)) : "";
}

// '*' stands for any text.
bool matches(std::string_view pattern, std::string_view name) {
  size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  pattern.remove_prefix(star + 1);
  for (name.remove_prefix(star);; name.remove_prefix(1)) {
    if (matches(pattern, name)) return true;
    if (name.empty()) return false;
  }
}

struct ModelName {
  std::string id, revision;
};

// org/name or name, letters, digits, '.', '_', '-'; with @revision.
Result<ModelName> parse_name(const std::string& given, const ResolveOptions& o) {
  std::string_view rest = given;
  bool hub = rest.starts_with("hf://");
  if (hub) rest.remove_prefix(5);
  ModelName m{std::string(rest), o.revision};
  if (size_t at = rest.find('@'); at != std::string_view::npos) {
    m.id = rest.substr(0, at);
    m.revision = rest.substr(at + 1);
  }
  std::vector<std::string> parts = split(m.id, '/');
  bool good = parts.size() <= 2 && m.id.size() <= 96 && !m.revision.empty() &&
              m.revision[0] != '/' && m.id.find("--") == std::string::npos &&
              m.id.find("..") == std::string::npos && m.revision.find("..") == std::string::npos;
  for (const std::string& p : parts) {
    auto plain = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
    };
    good =
        good && !p.empty() && p[0] != '.' && p[0] != '-' && std::all_of(p.begin(), p.end(), plain);
  }
  if (good) return m;
  return Error(err::kHubName,
               fmt::format("'{}' is neither an existing folder nor a hub name", given))
      .todo(
          "give the path of a model folder, or a name such as gpt2 or org/name or "
          "hf://org/name@revision");
}

Error refused(const HttpResponse& r, const ModelName& m, const std::string& given, bool token) {
  std::string code = r.header("x-error-code"), message = r.header("x-error-message");
  std::string said = message.empty() ? "" : fmt::format(" ({})", message);
  if (code == "GatedRepo" || r.status == 403 || (r.status == 401 && token)) {
    return Error(err::kHubGated,
                 fmt::format("the hub refuses access to '{}': status {}{}", m.id, r.status, said))
        .at(r.url)
        .todo(token ? "ask for access on the model's page with the account of your token, or check "
                      "that the token is right and may read it"
                    : "accept the terms on the model's page, make a token in your hub settings and "
                      "set HF_TOKEN");
  }
  if (code == "RevisionNotFound") {
    return Error(err::kHubMissing,
                 fmt::format("'{}' has no revision '{}' on the hub", m.id, m.revision))
        .at(r.url)
        .todo("its page lists branches, tags and commits under Files");
  }
  if (r.status == 401 || r.status == 404) {
    return Error(
               err::kHubMissing,
               fmt::format("'{}' is neither a local folder nor a model of the hub{}", given, said))
        .at(r.url)
        .todo(token ? "check the spelling of the path or name"
                    : "check the spelling of the path or name; a private model needs HF_TOKEN");
  }
  return Error(err::kHttpStatus, fmt::format("the hub answered with status {}{}", r.status, said))
      .at(r.url)
      .todo("try again later; what is in the cache can be used with HF_HUB_OFFLINE=1");
}

class Hub {
 public:
  Hub(ModelName m, std::string given, const ResolveOptions& o)
      : model_(std::move(m)),
        given_(std::move(given)),
        options_(o),
        token_(access_token(o)),
        cache_(cache_folder(o), model_.id),
        http_(o.http) {
    endpoint_ = !o.endpoint.empty() ? o.endpoint : variable("HF_ENDPOINT");
    if (endpoint_.empty()) endpoint_ = "https://huggingface.co";
    while (endpoint_.ends_with("/")) endpoint_.pop_back();
    if (!token_.empty()) headers_["authorization"] = "Bearer " + token_;
    headers_["accept-encoding"] = "identity";  // sizes and ranges of the files themselves
  }

  Result<std::string> resolve() {
    std::optional<std::string> known = cache_.commit_of(model_.revision);
    bool usable = known && complete(cache_.files(*known));
    bool offline =
        options_.offline.value_or(is_set("HF_HUB_OFFLINE") || is_set("TRANSFORMERS_OFFLINE"));
    if (offline) {
      if (usable) return cache_.snapshot(*known);
      return not_cached(known);
    }
    // A commit never changes: with all files there, the hub has nothing to add.
    if (usable && is_commit(model_.revision)) return cache_.snapshot(*known);
    if (usable) http_.set_retries(0);
    std::string url = fmt::format("{}/api/models/{}/revision/{}", endpoint_, model_.id,
                                  url_encoded(model_.revision));
    Result<HttpResponse> answer = http_.get(url, headers_);
    http_.set_retries(options_.http.retries);
    bool out_of_order = answer.ok() && answer->status >= 500;
    if (usable &&
        (out_of_order || (!answer.ok() && answer.error().code() == std::string("H0107")))) {
      if (options_.progress)
        log_warning("the hub cannot be reached: using {} as it is in the cache", model_.id);
      return cache_.snapshot(*known);
    }
    if (!answer.ok()) return std::move(answer.error());
    if (answer->status != 200) return refused(*answer, model_, given_, !token_.empty());
    return fetch(answer->body, url);
  }

 private:
  bool complete(const std::vector<std::string>& files) const {
    bool weights = false, any = !files.empty();
    for (const std::string& f : files) {
      weights =
          weights || f.ends_with(".safetensors") || f.ends_with(".bin") || f.ends_with(".gguf");
    }
    // An index names the shards; one that is missing makes the snapshot useless.
    Result<Json> index =
        read_json_file(cache_.snapshot(cache_.commit_of(model_.revision).value_or("")) +
                       "/model.safetensors.index.json");
    if (options_.weights && index.ok() && index->is_object() && index->contains("weight_map")) {
      for (const Json& shard : (*index)["weight_map"]) {
        if (!shard.is_string()) continue;
        // GCC 13 compares no string with a Json inside std::find.
        if (std::find(files.begin(), files.end(), shard.get<std::string>()) == files.end())
          return false;
      }
    }
    return any && (weights || !options_.weights);
  }

  Error not_cached(const std::optional<std::string>& commit) const {
    std::string have = commit ? fmt::format("{}", fmt::join(cache_.files(*commit), ", ")) : "";
    return Error(err::kHubOffline,
                 fmt::format("'{}' is not a local folder, and the cache {} revision '{}' of it{}",
                             given_, have.empty() ? "does not hold" : "holds only a part of",
                             model_.revision, have.empty() ? "" : ": " + have))
        .at(fmt::format("cache {}", cache_folder(options_)))
        .todo("run once with network (HF_HUB_OFFLINE=0), or give the path of a model folder");
  }

  Result<std::string> fetch(const std::string& body, const std::string& url) {
    Json info = HONE_TRY(parse_json(body, url));
    std::string commit;
    std::vector<std::string> all;
    if (info.is_object() && info.contains("sha") && info["sha"].is_string()) commit = info["sha"];
    if (!is_commit(commit) || !info.contains("siblings") || !info["siblings"].is_array()) {
      return Error(err::kHttpStatus, "the answer is not that of a model hub")
          .at(url)
          .todo("check HF_ENDPOINT");
    }
    for (const Json& s : info["siblings"]) {
      if (s.is_object() && s.contains("rfilename") && s["rfilename"].is_string())
        all.push_back(s["rfilename"]);
    }
    std::vector<std::string> wanted = wanted_files(all, options_.weights, options_.also);
    bool weights = std::any_of(wanted.begin(), wanted.end(), [](const std::string& f) {
      return f.ends_with(".safetensors") || f.ends_with(".gguf");
    });
    if (options_.weights && !weights) {
      return Error(err::kHubNoWeights,
                   fmt::format("'{}' has no weights in safetensors format", given_))
          .at(fmt::format("{} files at revision {}", all.size(), model_.revision))
          .todo(
              "many models have a converted copy: look for a revision such as refs/pr/1 on the "
              "model's page and give it as name@revision; or fetch the folder yourself and use "
              "'hone convert'");
    }
    for (const std::string& file : wanted) {
      if (!cache_.has(commit, file)) HONE_TRY(fetch_file(commit, file));
    }
    HONE_TRY(cache_.remember(model_.revision, commit));
    return cache_.snapshot(commit);
  }

  struct FileInfo {
    std::string etag;
    int64_t bytes = -1;
  };

  // HEAD, following redirects within the hub (renamed models); one to where the content lies comes
  // with all that is asked.
  Result<FileInfo> look_at(std::string url) {
    for (int redirects = 0;; ++redirects) {
      HttpResponse r = HONE_TRY(http_.head(url, headers_));
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
      if (!redirect && r.status != 200) return refused(r, model_, given_, !token_.empty());
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

  Status fetch_file(const std::string& commit, const std::string& file) {
    std::string url =
        fmt::format("{}/{}/resolve/{}/{}", endpoint_, model_.id, commit, url_encoded(file));
    FileInfo info = HONE_TRY(look_at(url));
    HubCache::Lock lock = HONE_TRY(cache_.lock(info.etag));
    if (!cache_.has_blob(info.etag)) {
      std::string partial = cache_.blob(info.etag) + ".incomplete";
      HONE_TRY(file_store().make_dirs(std::filesystem::path(partial).parent_path().string()));
      HONE_TRY(check_space(partial, info, file));
      Status good = load(url, partial, info, file);
      if (!good.ok() && good.error().code() == std::string(err::kChecksum.id)) {
        good = load(url, partial, info, file);  // what a broken transfer left is gone: once more
      }
      HONE_TRY(std::move(good));
      HONE_TRY(file_store().rename(partial, cache_.blob(info.etag)));
    }
    return cache_.link(commit, file, info.etag);
  }

  Status check_space(const std::string& partial, const FileInfo& info, const std::string& file) {
    std::error_code error;
    auto space = std::filesystem::space(std::filesystem::path(partial).parent_path(), error);
    Store::Info have = HONE_TRY(file_store().info(partial));
    if (error || info.bytes < 0 || static_cast<int64_t>(space.available) > info.bytes - have.bytes)
      return Ok{};
    return Error(err::kStoreFull, fmt::format("{} of {} needs {}, {} are free", file, model_.id,
                                              format_bytes(info.bytes - have.bytes),
                                              format_bytes(static_cast<int64_t>(space.available))))
        .at(cache_folder(options_))
        .todo("free some space or choose another cache folder with HF_HUB_CACHE or --cache_dir");
  }

  // Appends to `partial` until it holds the file, then checks it; a damaged one is removed.
  Status load(const std::string& url, const std::string& partial, const FileInfo& info,
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
      HttpResponse r = HONE_TRY(http_.download(url, headers_, have, sink));
      if (r.status != 200 && r.status != 206) return refused(r, model_, given_, !token_.empty());
      HONE_TRY(writer->commit());
    }
    std::string wrong = HONE_TRY(difference(partial, info));
    if (wrong.empty()) return Ok{};
    HONE_TRY(file_store().remove(partial));
    return Error(err::kChecksum,
                 fmt::format("{} of {} arrived damaged: {}", file, model_.id, wrong))
        .at(url)
        .todo("try again; if it stays so, a proxy or mirror changes the file: try without it");
  }

  // "" when the file is what its etag says.
  Result<std::string> difference(const std::string& path, const FileInfo& info) {
    int64_t bytes = HONE_TRY(file_store().bytes(path));
    if (info.bytes >= 0 && bytes != info.bytes) {
      return fmt::format("{} bytes instead of {}", bytes, info.bytes);
    }
    std::string sum = info.etag;
    if (info.etag.size() == 64) sum = HONE_TRY(sha256_of_file(file_store(), path));
    if (is_commit(info.etag)) sum = HONE_TRY(git_blob_id_of_file(file_store(), path));
    if (sum == info.etag) return std::string();
    return fmt::format("its checksum is {} instead of {}", sum, info.etag);
  }

  ModelName model_;
  std::string given_;
  const ResolveOptions& options_;
  std::string token_, endpoint_;
  HubCache cache_;
  HttpClient http_;
  HttpHeaders headers_;
};

}  // namespace

std::vector<std::string> wanted_files(const std::vector<std::string>& all, bool weights,
                                      const std::vector<std::string>& also) {
  static const char* const kSmall[] = {"config.json",
                                       "generation_config.json",
                                       "tokenizer.json",
                                       "tokenizer_config.json",
                                       "special_tokens_map.json",
                                       "added_tokens.json",
                                       "vocab.json",
                                       "merges.txt",
                                       "vocab.txt",
                                       "spiece.model",
                                       "tokenizer.model",
                                       "sentencepiece.bpe.model",
                                       "source.spm",
                                       "target.spm",
                                       "chat_template.jinja",
                                       "chat_template.json",
                                       "preprocessor_config.json",
                                       "processor_config.json",
                                       "adapter_config.json"};
  auto has = [&](const char* name) { return std::find(all.begin(), all.end(), name) != all.end(); };
  bool one = has("model.safetensors"), shards = has("model.safetensors.index.json");
  std::vector<std::string> out;
  for (const std::string& f : all) {
    if (f.find('/') != std::string::npos || f.empty() || f[0] == '.') continue;
    bool take =
        std::any_of(std::begin(kSmall), std::end(kSmall), [&](const char* s) { return f == s; });
    take = take || std::any_of(also.begin(), also.end(),
                               [&](const std::string& p) { return matches(p, f); });
    if (weights && f.ends_with(".safetensors")) {
      // Repositories often hold the same weights again in other cuts (consolidated.safetensors,
      // model.fp16.safetensors): the standard names go first.
      if (one)
        take = take || f == "model.safetensors" || f.starts_with("adapter_");
      else if (shards)
        take = take || matches("model-*-of-*.safetensors", f);
      else
        take = true;
    }
    if (weights && f == "model.safetensors.index.json") take = !one;
    if (take) out.push_back(f);
  }
  return out;
}

Result<std::string> resolve_model(const std::string& name, const ResolveOptions& options) {
  if (!name.starts_with("hf://") && !name.empty() && HONE_TRY(file_store().exists(name)))
    return name;
  if (name.starts_with("/") || name.starts_with("./") || name.starts_with("../") ||
      name.starts_with("~")) {
    return Error(err::kStoreMissing, fmt::format("there is no folder '{}'", name))
        .todo("check the path; relative paths start at the current folder");
  }
  ModelName model = HONE_TRY(parse_name(name, options));
  return Hub(std::move(model), name, options).resolve();
}

}  // namespace hone
