// "RobertaProcessing":  <s> A </s>  and  <s> A </s> </s> B </s>,  every segment id 0.
#include "learn/tokenizers/stages.h"

namespace hone {
namespace {

class Roberta : public PostProcessor {
 public:
  Roberta(int32_t cls, int32_t sep) : cls_(cls), sep_(sep) {}

  void process(std::vector<Encoding>& parts) const override {
    for (size_t i = 0; i < parts.size(); ++i) {
      auto& ids = parts[i].ids;
      ids.insert(ids.begin(), i == 0 ? cls_ : sep_);
      ids.push_back(sep_);
      parts[i].type_ids.assign(ids.size(), 0);
    }
  }

 private:
  int32_t cls_, sep_;
};

// ["</s>", 2]
Result<int32_t> id_of_pair(const JsonAt& spec) {
  const auto pair = HONE_TRY(spec.array());
  int64_t id;
  if (pair.size() != 2 || pair.at(1).get(id) || id < 0 || id > Vocabulary::kMaxId)
    return spec.expected("[token, id]");
  return static_cast<int32_t>(id);
}

Result<std::unique_ptr<PostProcessor>> make(const JsonAt& spec, const StageContext&) {
  const int32_t cls = HONE_TRY(id_of_pair(HONE_TRY(spec.get("cls"))));
  const int32_t sep = HONE_TRY(id_of_pair(HONE_TRY(spec.get("sep"))));
  return std::unique_ptr<PostProcessor>(std::make_unique<Roberta>(cls, sep));
}

}  // namespace

StageType tokenizer_stage_post_processor_roberta() {
  return {.types = {"RobertaProcessing"}, .post_processor = make};
}

}  // namespace hone
