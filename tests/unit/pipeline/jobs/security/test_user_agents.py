"""Which agents declare themselves."""

import time

import pytest

from barnabas.pipeline.jobs.security.user_agents import is_declared

DECLARED = (
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)",
    "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
    "Sogou web spider/4.0(+http://www.sogou.com/docs/help/webmasters.htm#07)",
    "UniversalFeedParser/4.2-pre-314-svn +http://feedparser.org/",
    "Feedfetcher-Google; (+http://www.google.com/feedfetcher.html; 22 subscribers; feed-id=8321906634162087507)",
    "Tiny Tiny RSS/1.11 (http://tt-rss.org/)",
    "NewsBlur Page Fetcher - 1 subscriber",
    "Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)",
    "Liferea/1.8.3 (Linux; en_GB.UTF-8; http://liferea.sf.net/)",
    "LiveJournal.com (webmaster@livejournal.com; for http://www.livejournal.com/users/x/; 1 readers)",
    "Mozilla/5.0 (compatible; Ezooms/1.0; help@moz.com)",
    "a-thing-nobody-knows/0.1 (+https://unknown.example)",
    "A WEB CRAWLER",
    "curl/7.22.0 (i686-pc-linux-gnu)",
    "Wget/1.14 (linux-gnu)",
    "python-requests/2.32.3",
    "Python-urllib/2.7",
    "LWP::Simple/5.827 libwww-perl/5.833",
    "Go-http-client/1.1",
    "check_http/v2.3.3 (monitoring-plugins 2.3.3)",
)
BROWSERS = (
    "Mozilla/5.0 (Windows NT 6.1; WOW64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/32.0.1700.107 Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 "
    "Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Linux; Android 11; CUBOT NOTE 20) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Mobile",
    "Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 5.1; Trident/4.0; .NET CLR 2.0.50727; InfoPath.3)",
    "Opera/9.80 (X11; Linux x86_64) Presto/2.12.388 Version/12.16",
    "Lynx/2.8.7rel.2 libwww-FM/2.14 SSL-MM/1.4.1 OpenSSL/1.0.1f",
    "Dalvik/1.6.0 (Linux; U; Android 4.1.2; GT-S5282 Build/JZO54K)",
    "-",
    "",
)


@pytest.mark.parametrize("agent", DECLARED)
def test_declares_itself(agent: str):
    assert is_declared(agent)


@pytest.mark.parametrize("agent", BROWSERS)
def test_claims_to_be_a_browser(agent: str):
    assert not is_declared(agent)


@pytest.mark.parametrize("part", ["a", "Current", "a.b-"])
def test_a_very_long_agent_is_looked_at_in_no_time(part: str):
    began_s = time.process_time()
    assert not is_declared(part * 100_000)
    assert time.process_time() - began_s < 1
