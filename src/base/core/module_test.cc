#include "base/core/module.h"

#include <gmock/gmock.h>

#include "base/core/errors.h"

namespace hone {
namespace {

using ::testing::HasSubstr;

TEST(Module, HasFunctionsAndAFolder) {
  const Module math = load_module("libm.so.6").value();
  EXPECT_EQ(math.symbol<double (*)(double)>("floor")(2.5), 2);
  EXPECT_EQ(math.symbol<double (*)(double)>("no_such_function"), nullptr);
  EXPECT_THAT(math.folder(), HasSubstr("/lib"));
}

TEST(Module, SaysWhatDoesNotLoad) {
  const Error none = load_module("/no/lib.so").error();
  EXPECT_TRUE(none.is(err::kModule));
  EXPECT_THAT(none.what(), HasSubstr("/no/lib.so does not load: "));
  EXPECT_THAT(load_beside_program("libhone_none.so").error().what(),
              HasSubstr("this build has no libhone_none.so (looked for /"));
}

}  // namespace
}  // namespace hone
