#include "learn/models/embed_texts.h"

namespace hone {

ValueId embed_texts(ModelGraph& g, ValueId segments) {
  const Family& f = family_of(g.config);
  HONE_BUG_IF(g.config.head != Head::none || !g.config.embedding,
              "a model with the head {} embeds no texts", name_of(g.config.head));
  return text_embeddings(g, f.body(g), segments);
}

}  // namespace hone
