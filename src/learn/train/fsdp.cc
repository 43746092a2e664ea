#include "learn/train/fsdp.h"

#include <map>
#include <sstream>

#include "base/settings/errors.h"

namespace hone {
namespace {

// Transformers gives the words as one text or as several.
std::vector<std::string> fsdp_words(const OrderedJson& value) {
  std::vector<std::string> words;
  for (const OrderedJson& part : value) {
    std::istringstream text(part.get<std::string>());
    for (std::string word; text >> word;) words.push_back(word);
  }
  return words;
}

}  // namespace

void follow_fsdp(Schema& schema, std::vector<std::string>& notices, std::vector<Error>& errors) {
  static const std::map<std::string, int64_t> stages = {{"full_shard", 3},
                                                        {"hybrid_shard", 3},
                                                        {"shard_grad_op", 2},
                                                        {"hybrid_shard_zero2", 2},
                                                        {"no_shard", 0}};
  const auto imply = [&](const std::string& name, const Json& value, const std::string& word) {
    if (Status s = schema.imply(name, value, "--fsdp " + word, notices); !s.ok())
      errors.push_back(std::move(s.error()));
  };
  for (const std::string& word : fsdp_words(schema.at("fsdp").value())) {
    if (const auto stage = stages.find(word); stage != stages.end()) {
      imply("zero_stage", stage->second, word);
      if (word.starts_with("hybrid_")) imply("mics_shard_size", -1, word);
    } else if (word == "offload") {
      imply("offload_param_device", "cpu", word);
      imply("offload_optimizer_device", "cpu", word);
    } else if (word != "auto_wrap") {
      errors.push_back(
          Error(err::kSettingChoice, fmt::format("fsdp: '{}' is not a word of --fsdp", word))
              .at("--fsdp " + word)
              .todo("use full_shard, shard_grad_op, hybrid_shard, hybrid_shard_zero2 or no_shard, "
                    "and offload or auto_wrap"));
    }
  }
}

}  // namespace hone
