#include "engine/backends/backends.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/core/log.h"
#include "base/core/text.h"
#include "engine/device/errors.h"

namespace hone {

std::vector<BackendKind> all_backend();  // generated: one of each file of this folder

namespace {

std::string in_lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// "V100-16GB or V100-32GB" for "V100": the names that begin with it, else the nearest; "": none.
std::string meant_by(const std::string& name, const std::vector<std::string>& known) {
  std::vector<std::string> longer;
  for (const std::string& k : known)
    if (!name.empty() && in_lower(k).starts_with(in_lower(name))) longer.push_back(k);
  std::sort(longer.begin(), longer.end());
  return longer.empty() ? nearest_name(name, known) : join(longer, " or ");
}

Error unknown(const std::string& what, const std::string& name,
              const std::vector<std::string>& known) {
  const std::string near = meant_by(name, known);
  return Error(err::kNoBackend, fmt::format("there is no {} '{}'", what, name))
      .todo((near.empty() ? std::string() : fmt::format("did you mean {}? ", near)) +
            fmt::format("known are {}", join(known, ", ")));
}

// The kinds that "auto" tries, in this order.
std::vector<const BackendKind*> auto_kinds() {
  std::vector<const BackendKind*> kinds;
  for (const BackendKind& k : backend_kinds())
    if (k.open && k.auto_rank > 0) kinds.push_back(&k);
  std::sort(kinds.begin(), kinds.end(),
            [](const BackendKind* a, const BackendKind* b) { return a->auto_rank > b->auto_rank; });
  return kinds;
}

// "cuda (NVIDIA GPUs ...) or cpu (...)".
std::string auto_kinds_text() {
  std::vector<std::string> texts;
  for (const BackendKind* k : auto_kinds())
    texts.push_back(fmt::format("{} ({})", k->name, k->about));
  return join(texts, " or ");
}

Result<std::unique_ptr<Backend>> open_first(const BackendOptions& options) {
  const std::vector<const BackendKind*> kinds = auto_kinds();
  HONE_BUG_IF(kinds.empty(), "no backend is tried for the device auto");
  for (size_t i = 0; i + 1 < kinds.size(); ++i) {
    auto backend = kinds[i]->open(options);
    if (backend.ok()) return backend;
    const std::string text =
        fmt::format("{} is not used: {}", kinds[i]->name, backend.error().text());
    if (kinds[i]->absent != nullptr && backend.error().is(*kinds[i]->absent))
      log_debug("{}", text);
    else
      log_warning("{}", text);
  }
  return kinds.back()->open(options);
}

}  // namespace

const std::vector<BackendKind>& backend_kinds() {
  static const std::vector<BackendKind> kinds = all_backend();
  return kinds;
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const BackendKind& k : backend_kinds())
    if (k.open) names.push_back(k.name);
  return names;
}

std::vector<std::string> portable_backend_names() {
  std::vector<std::string> names;
  for (const BackendKind& k : backend_kinds())
    if (k.open && !k.needs_device) names.push_back(k.name);
  return names;
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const BackendKind& k : backend_kinds())
    if (k.devices)
      for (const DeviceSpec& d : k.devices({})) names.push_back(d.name);
  return names;
}

Result<std::unique_ptr<Backend>> open_backend(const std::string& name,
                                              const BackendOptions& options) {
  for (const BackendKind& k : backend_kinds())
    if (k.name == name && k.open) return k.open(options);
  return unknown("backend", name, backend_names());
}

Result<std::unique_ptr<Backend>> open_device(const std::string& name,
                                             const BackendOptions& options) {
  if (name == "auto") return open_first(options);
  for (const BackendKind& k : backend_kinds()) {
    const std::string prefix = k.name + ":";
    if (!k.numbered || !name.starts_with(prefix)) continue;
    BackendOptions one = options;
    const char *begin = name.data() + prefix.size(), *end = name.data() + name.size();
    if (const auto [at, failed] = std::from_chars(begin, end, one.ordinal);
        failed == std::errc() && at == end)
      return open_backend(k.name, one);
  }
  const std::vector<std::string> names = backend_names();
  for (const std::string& planned : device_names())
    if (in_lower(planned) == in_lower(name) &&
        std::find(names.begin(), names.end(), planned) == names.end())
      return Error(err::kNoBackend, fmt::format("{} is a device that hone plans for", planned))
          .todo("use a device of this machine: " + auto_kinds_text());
  return open_backend(name, options);
}

Result<int> local_ranks_of(const std::string& name, int asked) {
  std::vector<std::string> able;
  for (const BackendKind& k : backend_kinds()) {
    if (k.devices_here == nullptr) continue;
    able.push_back(k.name);
    if (k.name == name) return asked > 0 ? asked : HONE_TRY(k.devices_here());
  }
  if (asked <= 1) return 1;
  return Error(err::kNoBackend,
               fmt::format("{} ranks of one process on the device '{}' are not supported", asked,
                           name))
      .at("`tpu_num_cores`")
      .todo(
          fmt::format("take the device {} without a number, or start {} processes with hone launch",
                      join(able, " or "), asked));
}

Result<DeviceSpec> device_spec(const std::string& name, const BackendOptions& options) {
  for (const BackendKind& k : backend_kinds())
    if (k.devices)
      for (DeviceSpec& d : k.devices(options))
        if (in_lower(d.name) == in_lower(name)) return std::move(d);
  return unknown("device", name, device_names());
}

Result<DeviceGroup> device_group(const std::string& name, const BackendOptions& options) {
  int64_t count = 1;
  std::string device = name;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), count);
  const auto digits = static_cast<size_t>(end - name.data());
  if (failed == std::errc() && digits < name.size() && (name[digits] == 'x' || name[digits] == 'X'))
    device = name.substr(digits + 1);
  else
    count = 1;
  DeviceSpec spec = HONE_TRY(device_spec(device, options));
  if (count < 1 || count > kMostDevices || (count > 1 && !spec.own_memory))
    return Error(err::kNoBackend, fmt::format("there are no {} devices '{}'", count, spec.name))
        .todo(spec.own_memory ? fmt::format("give a count from 1 to {}", kMostDevices)
                              : "give a GPU, or leave the count out");
  return DeviceGroup{std::move(spec), count};
}

Result<std::unique_ptr<Backend>> plan_backend(const DeviceSpec& spec) {
  for (const BackendKind& k : backend_kinds())
    if (k.name == spec.kernels && k.chooser)
      return std::unique_ptr<Backend>(std::make_unique<NullBackend>(k.chooser(spec), spec, k.join));
  HONE_BUG_IF(true, "no backend plans for {}", spec.name);
}

std::unique_ptr<Backend> plan_backend(const Backend& like) {
  return std::make_unique<NullBackend>(&like);
}

}  // namespace hone
