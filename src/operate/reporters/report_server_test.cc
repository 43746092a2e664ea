#include "operate/reporters/report_server.h"

#include <gmock/gmock.h>

#include <limits>

#include "operate/reporters/cloud_entries.h"
#include "operate/reporters/mlflow_client.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ReportServer, AddressesAreTakenApart) {
  const ServerAddress a =
      std::move(server_address("X", "HTTPS://me%40x:s%3Aecret@host:5000/p//").value());
  EXPECT_EQ(a.url, "https://host:5000/p");
  EXPECT_EQ(a.user, "me@x");
  EXPECT_EQ(a.password, "s:ecret");
  EXPECT_EQ(server_address("X", "http://host/a@b").value().url, "http://host/a@b");
}

TEST(ReportServer, AnotherSchemeIsRefusedWithoutThePassword) {
  for (const char* url : {"databricks", "sqlite:///x.db", "postgresql://me:secret@host/db", ""}) {
    const auto r = server_address("MLFLOW_TRACKING_URI", url);
    ASSERT_FALSE(r.ok()) << url;
    EXPECT_STREQ(r.error().code(), "H3121");
    EXPECT_THAT(r.error().text(), HasSubstr("MLFLOW_TRACKING_URI"));
    EXPECT_THAT(r.error().text(), Not(HasSubstr("secret")));
  }
}

TEST(ReportServer, AServerThatIsGoneIsNotNamedByItsPassword) {
  const ServerAddress a = std::move(server_address("X", "http://me:secret@127.0.0.1:9").value());
  ReportServer server("the server at " + a.url, 1);
  const auto r = server.send("POST", a.url, {}, "{}");
  ASSERT_FALSE(r.ok());
  EXPECT_STREQ(r.error().code(), "H0107");
  EXPECT_THAT(r.error().text(), HasSubstr("the server at http://127.0.0.1:9"));
  EXPECT_THAT(r.error().text(), Not(HasSubstr("secret")));
}

TEST(ReportServer, KeysAndValuesAreDecoded) {
  const auto all = key_values("a=1, b%2Cc = x%20y=z ,nothing,=no");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0], std::make_pair(std::string("a"), std::string("1")));
  EXPECT_EQ(all[1], std::make_pair(std::string("b,c"), std::string("x y=z")));
}

TEST(ReportServer, NumbersThatAreNotFiniteAreQuoted) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(report_json({{"a", inf}, {"b", {1, -inf, std::nan("")}}, {"c", {{"d", 0.5}}}}),
            "{\"a\": \"Infinity\", \"b\": [1, \"-Infinity\", \"NaN\"], \"c\": {\"d\": 0.5}}");
}

TEST(MlflowClient, NamesAreThoseThatTheServerTakes) {
  EXPECT_EQ(mlflow_name("eval_precision@1 (a-b./:c)"), "eval_precision_1 _a-b./:c_");
}

TEST(CloudEntries, AnEntryHasItsFieldsAndFiniteNumbers) {
  const LogRecord line{LogLevel::kWarning, 1700000000.25, 7, "it's hot",
                       "\"loss\":NaN,\"message\":\"other\""};
  EXPECT_EQ(cloud_entry(line, "r-0"),
            "{\"severity\": \"WARNING\", \"timestamp\": \"2023-11-14T22:13:20.250000Z\", "
            "\"insertId\": \"r-0\", \"jsonPayload\": {\"message\": \"it's hot\", \"loss\": "
            "\"NaN\"}, \"labels\": {\"step\": \"7\"}}");
}

TEST(CloudEntries, RequestsKeepToTheLimits) {
  const CloudLog log{"p", {{"run", "r"}}};
  EXPECT_TRUE(cloud_requests(log, {}).empty());
  EXPECT_EQ(cloud_requests(log, {"{}", "{}"}),
            std::vector<std::string>{
                "{\"logName\": \"projects/p/logs/hone\", \"resource\": {\"type\": \"global\", "
                "\"labels\": {\"project_id\": \"p\"}}, \"labels\": {\"run\": \"r\"}, "
                "\"partialSuccess\": true, \"entries\": [{}, {}]}"});
  EXPECT_EQ(cloud_requests(log, std::vector<std::string>(2001, "{}")).size(), 3u);
  EXPECT_EQ(cloud_requests(log, std::vector<std::string>(60, std::string(100'000, 'x'))).size(),
            2u);
}

}  // namespace
}  // namespace hone
