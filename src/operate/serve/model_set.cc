#include "operate/serve/model_set.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/core/text.h"
#include "operate/http/request.h"
#include "operate/serve/errors.h"
#include "operate/serve/protocol/errors.h"

namespace hone {

bool is_newer(const std::string& a, const std::string& b) {
  const auto number = [](const std::string& text) -> std::optional<uint64_t> {
    uint64_t n = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return n;
  };
  const auto x = number(a), y = number(b);
  return x && y && *x > *y;
}

Status check_model_name(const std::string& name, const std::string& version) {
  if (has_control_character(name))
    return Error(err::kServeRequest, "the name of the model has a control character");
  if (has_control_character(version) || version.find('/') != std::string::npos)
    return Error(err::kServeRequest, "the version has a slash or a control character");
  return Ok{};
}

Traffic with_share(Traffic now, const std::string& version, int64_t share) {
  now.erase(version);
  if (now.empty()) return {{version, 100}};
  int64_t sum = 0, left = 100 - share;
  for (const auto& [v, old] : now) sum += old;
  const int64_t all = left;
  for (auto it = now.begin(); it != now.end(); ++it) {
    it->second = sum > 0 ? all * it->second / sum : 0;
    if (std::next(it) == now.end()) it->second = left;  // with what the division left over
    left -= it->second;
  }
  now[version] = share;
  return now;
}

ModelSet::Named* ModelSet::named(const std::string& name) {
  const auto it = name.empty() ? models_.begin()
                               : std::find_if(models_.begin(), models_.end(),
                                              [&](const Named& n) { return n.name == name; });
  return it == models_.end() ? nullptr : &*it;
}

Error ModelSet::unknown(const std::string& name, const std::string& version) const {
  if (loading_) return still_loading();
  if (models_.empty()) return Error(err::kServeNoModel, "no model is loaded").todo("load one");
  std::vector<std::string> known;
  for (const Named& n : models_) {
    std::string versions;
    for (const auto& [v, model] : n.versions) versions += (versions.empty() ? "" : ", ") + v;
    known.push_back(fmt::format("{} (version {})", n.name, versions));
  }
  return Error(err::kServeNoModel,
               version.empty() ? fmt::format("no model is called '{}'", name)
                               : fmt::format("the model '{}' has no version '{}'", name, version))
      .todo("this server has " + join(known, "; "));
}

void ModelSet::add(Model model) {
  std::lock_guard lock(mutex_);
  Named* n = named(model->name());
  if (n == nullptr || n->name != model->name()) {
    models_.push_back({model->name(), {}, {{model->version(), 100}}});
    n = &models_.back();
  }
  if (n->versions.empty()) n->traffic = {{model->version(), 100}};
  Model& place = n->versions[model->version()];
  if (place) leave(place);
  place = std::move(model);
}

void ModelSet::leave(const Model& model) {
  std::erase_if(left_, [](const auto& w) { return w.expired(); });
  left_.push_back(model);
}

Status ModelSet::set_traffic(const std::string& name, const Traffic& traffic) {
  std::lock_guard lock(mutex_);
  Named* n = named(name);
  if (n == nullptr) return unknown(name);
  int64_t sum = 0;
  for (const auto& [version, share] : traffic) {
    if (!n->versions.contains(version)) return unknown(n->name, version);
    if (share < 0) return Error(err::kServeFlag, "a share of requests is negative");
    sum += share;
  }
  if (sum != 100)
    return Error(err::kServeFlag, fmt::format("the shares of requests sum to {}, not to 100", sum))
        .at(n->name)
        .todo("give percentages, such as 1=90 2=10");
  n->traffic = traffic;
  return Ok{};
}

Status ModelSet::remove(const std::string& name, const std::string& version) {
  std::map<std::string, Model> gone;  // outlives the lock
  std::lock_guard lock(mutex_);
  Named* n = named(name);
  if (n == nullptr) return unknown(name);
  if (!version.empty() && !n->versions.contains(version)) return unknown(n->name, version);
  if (version.empty() || n->versions.size() == 1) {
    gone.swap(n->versions);
    for (const auto& [v, model] : gone) leave(model);
    models_.erase(models_.begin() + (n - models_.data()));
    return Ok{};
  }
  if (const auto share = n->traffic.find(version); share != n->traffic.end() && share->second > 0)
    return Error(err::kServeFlag, fmt::format("version '{}' of '{}' has {} % of the requests",
                                              version, n->name, share->second))
        .todo("give them to another version first");
  n->traffic.erase(version);
  leave(n->versions.at(version));
  gone.insert(n->versions.extract(version));
  return Ok{};
}

Result<ModelSet::Model> ModelSet::find(const std::string& name, const std::string& version) {
  HONE_TRY(check_model_name(name, version));
  std::lock_guard lock(mutex_);
  Named* n = named(name);
  if (n == nullptr) return unknown(name);
  std::string chosen = version;
  if (chosen.empty()) {
    // 37 and 100 have no common factor, so each hundred requests are spread evenly.
    auto place = static_cast<int64_t>(n->requests++ * 37 % 100);
    for (const auto& [v, share] : n->traffic) {
      chosen = v;
      if (place < share) break;
      place -= share;
    }
  }
  return version_of(*n, chosen);
}

Result<ModelSet::Model> ModelSet::look_up(const std::string& name, const std::string& version) {
  HONE_TRY(check_model_name(name, version));
  std::lock_guard lock(mutex_);
  const Named* n = named(name);
  if (n == nullptr) return unknown(name);
  if (!version.empty()) return version_of(*n, version);
  const auto most = std::max_element(n->traffic.begin(), n->traffic.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  return version_of(*n, most == n->traffic.end() ? n->versions.begin()->first : most->first);
}

Result<ModelSet::Model> ModelSet::version_of(const Named& n, const std::string& version) const {
  const auto it = n.versions.find(version);
  if (it == n.versions.end()) return unknown(n.name, version);
  return it->second;
}

std::vector<ModelSet::Model> ModelSet::all() const {
  std::lock_guard lock(mutex_);
  std::vector<Model> all;
  for (const Named& n : models_)
    for (const auto& [version, model] : n.versions) all.push_back(model);
  return all;
}

std::vector<ModelSet::Model> ModelSet::living() const {
  std::vector<Model> all = this->all();
  std::lock_guard lock(mutex_);
  for (const auto& w : left_)
    if (Model model = w.lock()) all.push_back(std::move(model));
  return all;
}

std::vector<std::string> ModelSet::names() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const Named& n : models_) names.push_back(n.name);
  return names;
}

ModelSet::Traffic ModelSet::traffic(const std::string& name) const {
  std::lock_guard lock(mutex_);
  for (const Named& n : models_)
    if (n.name == name) return n.traffic;
  return {};
}

}  // namespace hone
