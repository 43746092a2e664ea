#include "operate/serve/model_sources.h"

#include "operate/serve/errors.h"

namespace hone {
namespace {

Error bad_source(const std::string& what, const std::string& where, const std::string& todo) {
  return Error(err::kServeFlag, what).at(where).todo(todo);
}

}  // namespace

Result<ModelSources> ModelSources::find(const SourceOptions& options) {
  ModelSources s;
  s.options_ = options;
  HONE_TRY(s.find_models());
  HONE_TRY(s.read_traffic());
  return s;
}

Status ModelSources::find_models() {
  for (const std::string& text : options_.models)
    first_.push_back(HONE_TRY(model_source(text, options_.registry)));
  if (has_endpoint()) {
    Registry registry = HONE_TRY(Registry::open(options_.registry));
    endpoint_ = HONE_TRY(registry.endpoint(options_.endpoint));
    for (const DeployedModel& d : endpoint_.deployed) {
      const ModelVersion version = HONE_TRY(registry.version(d.model, d.version));
      first_.push_back(HONE_TRY(registered_source(version)));
      traffic_[d.model][std::to_string(d.version)] = d.traffic;
      first_.back().deployed_id = d.id;
    }
  }
  if (has_repository())
    for (const std::string& name : HONE_TRY(repository_names(options_.model_repository)))
      first_.push_back(HONE_TRY(in_repository(options_.model_repository, name)));
  if (first_.empty() && !options_.uri.empty())
    first_.push_back({.name = "model", .source = options_.uri});
  if (first_.empty() && !has_repository() && !has_endpoint())
    return bad_source("no model is named", "hone serve",
                      "name a folder or hub name: hone serve t5=output/t5");
  for (size_t i = 0; i < first_.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (first_[i].name == first_[k].name && first_[i].version == first_[k].version)
        return bad_source(
            fmt::format("two models are named {}:{}", first_[i].name, first_[i].version),
            "hone serve", "name them apart: NAME:VERSION=FOLDER");
  return Ok{};
}

Status ModelSources::read_traffic() {
  for (const std::string& text : options_.traffic) {
    const size_t equals = text.rfind('='), colon = text.rfind(':', equals);
    const auto wrong = [&] {
      return bad_source(fmt::format("'{}' is not a share of requests", text), "--traffic",
                        "write NAME:VERSION=PERCENT");
    };
    if (equals == std::string::npos || colon == std::string::npos) return wrong();
    const std::string number = text.substr(equals + 1);
    if (number.empty() || number.size() > 3 ||
        number.find_first_not_of("0123456789") != std::string::npos)
      return wrong();
    traffic_[text.substr(0, colon)][text.substr(colon + 1, equals - colon - 1)] =
        std::stoll(number);
  }
  return Ok{};
}

Result<ModelSource> ModelSources::source_of(const LoadRequest& r) const {
  if (has_endpoint()) {
    Registry registry = HONE_TRY(Registry::open(options_.registry));
    return registered_source(
        HONE_TRY(resolve_model(registry, r.version.empty() ? r.name : r.name + ":" + r.version)));
  }
  if (has_repository()) return in_repository(options_.model_repository, r.name, r.version);
  const ModelSource* newest = nullptr;
  for (const ModelSource& m : first_)
    if (m.name == r.name && (r.version.empty() || m.version == r.version) &&
        (newest == nullptr || !is_newer(newest->version, m.version)))
      newest = &m;
  if (newest != nullptr) return *newest;
  return Error(err::kServeNoModel, fmt::format("no model is called '{}' {}", r.name, r.version))
      .todo("start the server with --endpoint or --model_repository to load others");
}

std::vector<std::string> ModelSources::repository() const {
  auto names = repository_names(options_.model_repository);
  return names.ok() ? std::move(*names) : std::vector<std::string>();
}

}  // namespace hone
