// Turns a JSON schema (draft 2020-12) into an Automaton whose texts are JSON documents that the schema allows.
// TokenMasks (token_masks.h) then restricts a model to these texts.
//
// Every text of the automaton is a valid document. But some valid documents are not texts of the automaton:
//   - The members of an object must be in the order of `properties`. Other members (`additionalProperties`) come after
//     them, and only if the schema has `additionalProperties`, or has no `properties`.
//   - Items after `prefixItems` are allowed only if the schema has `items`.
//   - White space between parts is at most one space, or a line break with at most 20 spaces or tabs.
//   - Numbers have at most 15 digits before the point, 15 after it, and 2 in the exponent.
//   - A value without a schema is nested at most 16 deep.
// Strings, lists, maps and recursive schemas ($ref) have no maximum length; the model decides when to end them.
#pragma once

#include <memory>

#include "base/core/json.h"
#include "learn/grammar/automaton.h"

namespace hone {

// The automaton of a schema. Errors: H2511 a key of the schema is not supported (the message names the place of the
// key, such as "#/properties/age"); H2512 the schema is wrong, or allows no document.
Result<std::shared_ptr<const Automaton>> schema_automaton(const OrderedJson& schema);
// The automaton of all JSON objects, in the form described above.
std::shared_ptr<const Automaton> object_automaton();

}  // namespace hone
