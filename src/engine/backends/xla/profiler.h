// The recording of a plug-in's profiler, for TensorBoard's profile plugin.
#pragma once

#include <memory>
#include <string>

#include "base/core/error.h"
#include "engine/backends/xla/pjrt_api.h"

namespace hone::xla {

// The plug-in's profiler. Null: it has none.
const pjrt::ProfilerApi* profiler_of(const pjrt::Api& api);

// A recording that begins with start() and ends with finish().
class PluginProfile {
 public:
  // Error H1363: the profiler cannot begin, with its message.
  static Result<std::unique_ptr<PluginProfile>> start(const pjrt::ProfilerApi& api);
  ~PluginProfile();
  PluginProfile(const PluginProfile&) = delete;

  // Ends the recording. Returns a serialized message XSpace (tsl/profiler/protobuf/xplane.proto); "": nothing was
  // recorded. Error H1363: the profiler fails, with its message.
  Result<std::string> finish();

 private:
  explicit PluginProfile(const pjrt::ProfilerApi& api) : api_(api) {}
  template <class Args>
  Status call(pjrt::ProfilerCall<Args> function, Args& args, const char* what) const;
  const pjrt::ProfilerApi& api_;
  pjrt::Profiler* raw_ = nullptr;
};

}  // namespace hone::xla
