// The profiler of a plug-in: one of a test, and that of libtpu on a machine without a TPU.
#include "engine/backends/xla/profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "engine/backends/xla/errors.h"
#include "engine/backends/xla/plugin.h"

struct hone::xla::pjrt::ProfilerError {
  std::string message;
};

namespace hone::xla {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The calls of the functions, and their answers.
struct Made {
  std::vector<std::string> calls = {};
  std::string fails = {};  // the call that fails
  bool own_buffer = true;
  std::string planes = "planes";
} made;

pjrt::ProfilerError* answer(const char* call) {
  made.calls.push_back(call);
  return made.fails == call ? new pjrt::ProfilerError{"no chip"} : nullptr;
}
template <int kCall>
pjrt::ProfilerError* called(pjrt::ProfilerArgs*) {
  static constexpr const char* kNames[] = {"destroy", "start", "stop"};
  return answer(kNames[kCall]);
}
pjrt::ProfilerError* create(pjrt::ProfilerCreateArgs* args) {
  args->profiler = reinterpret_cast<pjrt::Profiler*>(&made);
  return answer("create");
}
pjrt::ProfilerError* collect(pjrt::ProfilerCollectArgs* args) {
  args->buffer_size = made.planes.size();
  if (args->buffer != nullptr)
    std::memcpy(args->buffer, made.planes.data(), made.planes.size());
  else if (made.own_buffer)
    args->buffer = reinterpret_cast<uint8_t*>(made.planes.data());
  return answer("collect");
}
void describe(pjrt::ProfilerMessageArgs* args) {
  args->message = args->error->message.data();
  args->message_size = args->error->message.size();
}
void free_error(pjrt::ProfilerErrorArgs* args) { delete args->error; }

const pjrt::ProfilerApi kApi{.struct_size = sizeof(pjrt::ProfilerApi),
                             .unused = nullptr,
                             .error_destroy = free_error,
                             .error_message = describe,
                             .error_code = nullptr,
                             .create = create,
                             .destroy = called<0>,
                             .start = called<1>,
                             .stop = called<2>,
                             .collect = collect};

TEST(Profiler, IsFoundAmongTheExtensions) {
  pjrt::ProfilerExtension profiler{
      {sizeof(pjrt::ProfilerExtension), pjrt::ProfilerExtension::kType, nullptr}, &kApi};
  const pjrt::Extension other{sizeof(pjrt::Extension), 4, &profiler};
  pjrt::Api api{};
  EXPECT_EQ(profiler_of(api), nullptr);
  api.extension = &other;
  EXPECT_EQ(profiler_of(api), &kApi);
  profiler.struct_size = sizeof(pjrt::Extension);  // an older form, without the table
  EXPECT_EQ(profiler_of(api), nullptr);
}

TEST(Profiler, RecordsFromStartToFinish) {
  for (const bool own_buffer : {true, false}) {
    made = {.own_buffer = own_buffer};
    EXPECT_EQ(PluginProfile::start(kApi).value()->finish().value(), "planes");
    std::vector<std::string> calls{"create", "start", "stop", "collect"};
    if (!own_buffer) calls.push_back("collect");
    calls.push_back("destroy");
    EXPECT_EQ(made.calls, calls);
  }
}

TEST(Profiler, SaysWhyItFails) {
  made = {.fails = "start"};
  const auto refused = PluginProfile::start(kApi);
  ASSERT_FALSE(refused.ok());
  EXPECT_STREQ(refused.error().code(), err::kXlaFails.id);
  EXPECT_THAT(refused.error().what(), HasSubstr("starting the plug-in's profiler failed: no chip"));
  EXPECT_THAT(made.calls, ElementsAre("create", "start", "destroy"));
  made = {.fails = "collect"};
  EXPECT_FALSE(PluginProfile::start(kApi).value()->finish().ok());
}

TEST(Profiler, OfLibtpuWorksWithoutATpu) {
  const auto file = find_libtpu();
  if (!file.ok()) GTEST_SKIP() << file.error().text();
  setenv("TPU_SKIP_MDS_QUERY", "1", 0);
  setenv("TPU_WORKER_HOSTNAMES", "localhost", 0);
  setenv("ALLOW_MULTIPLE_LIBTPU_LOAD", "1", 0);
  const auto plugin = Plugin::load(*file);
  ASSERT_TRUE(plugin.ok()) << plugin.error().text();
  const pjrt::ProfilerApi* api = profiler_of((*plugin)->api());
  ASSERT_NE(api, nullptr);
  auto profile = PluginProfile::start(*api);
  ASSERT_TRUE(profile.ok()) << profile.error().text();
  const auto planes = (*profile)->finish();
  ASSERT_TRUE(planes.ok()) << planes.error().text();
  EXPECT_THAT(*planes, HasSubstr("/host:"));
}

}  // namespace
}  // namespace hone::xla
