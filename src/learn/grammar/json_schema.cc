#include "learn/grammar/json_schema.h"

#include "learn/grammar/schema_compiler.h"

namespace hone {

Result<std::shared_ptr<const Automaton>> schema_automaton(const OrderedJson& schema) {
  return SchemaCompiler().compile(schema);
}

std::shared_ptr<const Automaton> object_automaton() {
  static const std::shared_ptr<const Automaton> all = SchemaCompiler().any_object();
  return all;
}

}  // namespace hone
