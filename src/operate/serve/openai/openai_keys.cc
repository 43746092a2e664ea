#include "operate/serve/openai/openai_keys.h"

#include <algorithm>

#include "operate/serve/protocol/errors.h"

namespace hone {
namespace {

constexpr KeyUse kIgnored = KeyUse::ignored, kRead = KeyUse::read, kFixed = KeyUse::fixed;

constexpr OpenaiKey kCompletionKeys[] = {{"model", kRead},
                                         {"prompt", kRead},
                                         {"stream", kRead},
                                         {"stream_options", kRead},
                                         {"n", kRead},
                                         {"best_of", kRead},
                                         {"stop", kRead},
                                         {"max_tokens", kRead},
                                         {"temperature", kRead},
                                         {"logprobs", kRead},
                                         {"echo", kRead},
                                         {"response_format", kRead},
                                         {"user", kIgnored},
                                         {"metadata", kIgnored},
                                         {"suffix", kFixed, R"([""])"},
                                         {"store", kFixed, "[false]"},
                                         {"service_tier", kFixed, R"(["auto", "default"])"}};
constexpr OpenaiKey kChatBodyKeys[] = {{"model", kRead},
                                       {"stream", kRead},
                                       {"stream_options", kRead},
                                       {"n", kRead},
                                       {"stop", kRead},
                                       {"max_tokens", kRead},
                                       {"max_completion_tokens", kRead},
                                       {"temperature", kRead},
                                       {"logprobs", kRead},
                                       {"top_logprobs", kRead},
                                       {"response_format", kRead},
                                       {"parallel_tool_calls", kRead},
                                       {"user", kIgnored},
                                       {"metadata", kIgnored},
                                       {"safety_identifier", kIgnored},
                                       {"prompt_cache_key", kIgnored},
                                       {"prompt_cache_retention", kIgnored},
                                       {"functions", kFixed, "[]"},
                                       {"function_call", kFixed, R"(["auto", "none"])"},
                                       {"store", kFixed, "[false]"},
                                       {"service_tier", kFixed, R"(["auto", "default"])"},
                                       {"modalities", kFixed, R"([["text"]])"},
                                       {"audio", kFixed, "[]"},
                                       {"prediction", kFixed, "[]"},
                                       {"web_search_options", kFixed, "[]"},
                                       {"verbosity", kFixed, R"(["medium"])"}};
constexpr OpenaiKey kResponseKeys[] = {
    {"model", kRead},
    {"input", kRead},
    {"instructions", kRead},
    {"max_output_tokens", kRead},
    {"temperature", kRead},
    {"top_p", kRead},
    {"stream", kRead},
    {"text", kRead},
    {"include", kRead},
    {"top_logprobs", kRead},
    {"user", kIgnored},
    {"metadata", kIgnored},
    {"safety_identifier", kIgnored},
    {"prompt_cache_key", kIgnored},
    {"prompt_cache_retention", kIgnored},
    {"store", kFixed, "[false]"},
    {"background", kFixed, "[false]"},
    {"truncation", kFixed, R"(["disabled"])"},
    {"service_tier", kFixed, R"(["auto", "default"])"},
    {"parallel_tool_calls", kFixed, "[true, false]"},
    {"tools", kFixed, "[]"},
    {"tool_choice", kFixed, R"(["auto", "none"])"},
    {"max_tool_calls", kFixed, "[]"},
    {"reasoning", kFixed, "[]"},
    {"previous_response_id", kFixed, "[]"},
    {"conversation", kFixed, "[]"},
    {"prompt", kFixed, "[]"},
    {"stream_options", kFixed, R"([{"include_obfuscation": false}])"}};

bool says_nothing(const Json& v) {
  return v.is_null() || v == Json(false) || ((v.is_array() || v.is_object()) && v.empty());
}

}  // namespace

std::span<const OpenaiKey> completion_keys() { return kCompletionKeys; }
std::span<const OpenaiKey> chat_keys() { return kChatBodyKeys; }
std::span<const OpenaiKey> response_keys() { return kResponseKeys; }

bool is_key(std::span<const OpenaiKey> keys, const std::string& name) {
  return std::any_of(keys.begin(), keys.end(), [&](const OpenaiKey& k) { return name == k.name; });
}

Status check_fixed_keys(const Json& body, std::span<const OpenaiKey> keys) {
  for (const OpenaiKey& k : keys) {
    const Json& v = value_at(body, k.name);
    if (k.use != KeyUse::fixed || says_nothing(v)) continue;
    const Json allowed = parse_json(k.values, "values").value();
    if (std::find(allowed.begin(), allowed.end(), v) == allowed.end())
      return Error(err::kServeRequest,
                   fmt::format("{} {} is not supported", k.name, dump_json(v).substr(0, 80)))
          .at(k.name)
          .todo("leave it out");
  }
  return Ok{};
}

}  // namespace hone
