#include "learn/tasks/reference_model.h"

#include <algorithm>

#include "base/core/log.h"
#include "learn/pretrained/pretrained.h"
#include "learn/tasks/errors.h"

namespace hone {

namespace {

// The weights of the reference in the session.
Status load_reference(TaskRun& run, const std::string& reference) {
  const ModelConfig& config = run.model().config;
  const auto refuse = [&](const std::string& what, const char* advice) {
    return Error(err::kReferenceModel, what)
        .at("--ref_model_name_or_path " + reference)
        .todo(advice);
  };
  if (config.adapter)
    return refuse("an adapter has its own reference: the model without it",
                  "leave --ref_model_name_or_path out");
  OpenOptions options;
  options.need_tokenizer = false;
  options.quantization = config.quantization;
  const Pretrained other = HONE_TRY(open_pretrained(reference, options));
  const std::vector<ParamSpec> mine = family_of(config).params(config),
                               theirs = family_of(other.config).params(other.config);
  const auto same = [](const ParamSpec& a, const ParamSpec& b) {
    return a.name == b.name && a.shape == b.shape && a.scheme == b.scheme;
  };
  if (!std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end(), same))
    return refuse("the reference has other weights than the model",
                  "name a model of the same config.json");
  return load_weights(run.session(), other);
}

}  // namespace

Result<bool> evaluate_reference(TaskRun& run, const std::string& reference, int64_t begin,
                                int64_t end, EvalMetrics& metrics) {
  if (!reference.empty()) {
    HONE_TRY(load_reference(run, reference));
    log_info("{:<11} {}", "reference", reference);
  }
  const int64_t rows = HONE_TRY(run.evaluate_rows(begin, end, metrics, "reference"));
  if (!reference.empty()) HONE_TRY(run.load_first_weights());
  return rows >= 0;
}

}  // namespace hone
