#include "learn/pretrained/wrapped.h"

#include <algorithm>
#include <set>

#include "base/core/log.h"
#include "learn/checkpoint/safetensors/derived_weights.h"

namespace hone {
namespace {

// torch.compile, DeepSpeed and FSDP put these before the name of any module.
constexpr std::string_view kAnywhere[] = {"_orig_mod.", "_forward_module.", "_fsdp_wrapped_module.",
                                          "_checkpoint_wrapped_module."};
// DataParallel, alone and within a module that holds the model as self.model.
constexpr std::string_view kAtStart[] = {"module.", "model.module."};
constexpr std::string_view kTwice = "model.model.";

class UnwrappedWeights final : public DerivedWeights {
 public:
  UnwrappedWeights(std::unique_ptr<WeightSource> base, const std::vector<std::string>& names)
      : DerivedWeights(std::move(base)) {
    for (size_t i = 0; i < names.size(); ++i) {
      TensorInfo info = base_->tensors()[i];
      std::string of = std::exchange(info.name, names[i]);
      take(std::move(info), std::move(of));
    }
  }
};

}  // namespace

std::string without_wrappers(std::string name) {
  for (const std::string_view wrapper : kAnywhere)
    for (size_t at = 0; (at = name.find(wrapper, at)) != name.npos;) {
      if (at == 0 || name[at - 1] == '.')
        name.erase(at, wrapper.size());
      else
        at += wrapper.size();
    }
  for (bool found = true; found;) {
    found = false;
    for (const std::string_view wrapper : kAtStart)
      if (name.starts_with(wrapper)) name.erase(0, wrapper.size()), found = true;
  }
  return name;
}

std::unique_ptr<WeightSource> unwrapped(std::unique_ptr<WeightSource> weights) {
  std::vector<std::string> names;
  for (const TensorInfo& t : weights->tensors()) names.push_back(without_wrappers(t.name));
  const auto nested = [](const std::string& name) { return name.starts_with(kTwice); };
  while (!names.empty() && std::all_of(names.begin(), names.end(), nested))
    for (std::string& name : names) name.erase(0, kTwice.size() / 2);
  size_t first = 0;
  while (first < names.size() && names[first] == weights->tensors()[first].name) ++first;
  if (first == names.size()) return weights;
  if (std::set<std::string>(names.begin(), names.end()).size() < names.size()) return weights;
  log_info("{:<11} saved from inside a wrapper: '{}' is read as '{}', the others likewise",
           "weights", weights->tensors()[first].name, names[first]);
  return std::make_unique<UnwrappedWeights>(std::move(weights), names);
}

}  // namespace hone
