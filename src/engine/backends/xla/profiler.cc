#include "engine/backends/xla/profiler.h"

#include "base/core/text.h"
#include "engine/backends/xla/errors.h"

namespace hone::xla {
namespace {

// A serialized message ProfileOptions (tsl/profiler/protobuf/profiler_options.proto) of fields below 16 whose values are
// below 128.
std::string options_text() {
  std::string text;
  const auto field = [&](int number, int value) {
    text += static_cast<char>(number << 3);
    text += static_cast<char>(value);
  };
  constexpr int kHostLevel = 2, kDeviceLevel = 3, kVersion = 5, kPrograms = 7;
  field(kHostLevel, 2);  // what the plug-in does on the host, without details
  field(kDeviceLevel, 1);
  field(kVersion, 1);
  field(kPrograms, 1);  // the compiled programs too, to name operations
  return text;
}

}  // namespace

const pjrt::ProfilerApi* profiler_of(const pjrt::Api& api) {
  for (const pjrt::Extension* e = api.extension; e != nullptr; e = e->next) {
    if (e->type != pjrt::ProfilerExtension::kType ||
        e->struct_size < sizeof(pjrt::ProfilerExtension))
      continue;
    const pjrt::ProfilerApi* found = static_cast<const pjrt::ProfilerExtension*>(e)->api;
    if (found != nullptr && found->struct_size >= sizeof(pjrt::ProfilerApi)) return found;
  }
  return nullptr;
}

template <class Args>
Status PluginProfile::call(pjrt::ProfilerCall<Args> function, Args& args, const char* what) const {
  pjrt::ProfilerError* error = function(&args);
  if (error == nullptr) return Ok{};
  pjrt::ProfilerMessageArgs message;
  message.error = error;
  api_.error_message(&message);
  Error e(err::kXlaFails, fmt::format("{} failed: {}", what,
                                      std::string_view(message.message, message.message_size)));
  pjrt::ProfilerErrorArgs destroy;
  destroy.error = error;
  api_.error_destroy(&destroy);
  return e;
}

Result<std::unique_ptr<PluginProfile>> PluginProfile::start(const pjrt::ProfilerApi& api) {
  std::unique_ptr<PluginProfile> made(new PluginProfile(api));
  const std::string options = options_text();
  pjrt::ProfilerCreateArgs create;
  create.options = options.data();
  create.options_size = options.size();
  HONE_TRY(made->call(api.create, create, "opening the plug-in's profiler"));
  made->raw_ = create.profiler;
  pjrt::ProfilerArgs args;
  args.profiler = made->raw_;
  HONE_TRY(made->call(api.start, args, "starting the plug-in's profiler"));
  return made;
}

PluginProfile::~PluginProfile() {
  if (raw_ == nullptr) return;
  pjrt::ProfilerArgs args;
  args.profiler = raw_;
  (void)call(api_.destroy, args, "closing the plug-in's profiler");
}

Result<std::string> PluginProfile::finish() {
  pjrt::ProfilerArgs stop;
  stop.profiler = raw_;
  HONE_TRY(call(api_.stop, stop, "stopping the plug-in's profiler"));
  pjrt::ProfilerCollectArgs collect;
  collect.profiler = raw_;
  HONE_TRY(call(api_.collect, collect, "reading the plug-in's profile"));
  std::string text;
  if (collect.buffer != nullptr) {
    text.assign(reinterpret_cast<const char*>(collect.buffer), collect.buffer_size);
  } else if (collect.buffer_size > 0) {
    text.resize(collect.buffer_size);
    collect.buffer = reinterpret_cast<uint8_t*>(text.data());
    HONE_TRY(call(api_.collect, collect, "reading the plug-in's profile"));
    text.resize(std::min(text.size(), collect.buffer_size));
  }
  return text;
}

}  // namespace hone::xla
