// Uses the client that @hey-api/openapi-ts generates: lists, creates, follows, filters, pages, and is refused.
// Run with the address of an installation as URL and a token as TOKEN in the environment.

import { client } from './skerry/client.gen';
import {
  accountEventsList,
  computeInstancesCreate,
  computeInstancesDestroy,
  computeInstancesList,
  computeInstancesRetrieve,
  computeTypesList,
  regionsList,
} from './skerry/sdk.gen';

declare const process: { env: Record<string, string>; exitCode: number };

const PASSWORD = 'correct-horse-7-battery';

function assert(fine: unknown, what: unknown): asserts fine {
  if (!fine) throw new Error(JSON.stringify(what));
}

async function main(): Promise<void> {
  client.setConfig({ baseUrl: process.env.URL, auth: process.env.TOKEN });

  const region = (await regionsList({ throwOnError: true })).data.data[0].id;
  const smallest = { 'X-Filter': JSON.stringify({ class: 'nanode', '+order_by': 'memory' }) };
  const type = (await computeTypesList({ headers: smallest, throwOnError: true })).data.data[0].id;

  const refused = await computeInstancesCreate({ body: { region: 'nowhere', type } });
  assert(refused.error, refused.data);
  assert(refused.error.errors[0].field === 'region', refused.error);

  const created = await computeInstancesCreate({
    body: { region, type, image: 'compute/debian11', root_pass: PASSWORD, label: 'made-with-typescript' },
  });
  assert(created.data, created.error);
  const id = created.data.id;

  let status: string = created.data.status;
  while (status !== 'running') {
    await new Promise((resolve) => setTimeout(resolve, 200));
    status = (await computeInstancesRetrieve({ path: { id }, throwOnError: true })).data.status;
  }

  const events = await accountEventsList({
    headers: { 'X-Filter': JSON.stringify({ 'entity.id': id, 'entity.type': 'compute', action: 'compute_create' }) },
    throwOnError: true,
  });
  assert(events.data.data[0].status === 'finished', events.data);

  const found = await computeInstancesList({
    headers: { 'X-Filter': JSON.stringify({ label: 'made-with-typescript' }) },
    throwOnError: true,
  });
  assert(found.data.data.length === 1 && found.data.data[0].id === id, found.data);

  let page = (await computeInstancesList({ query: { page_size: 25 }, throwOnError: true })).data;
  for (let number = 2; number <= page.pages; number++) {
    page = (await computeInstancesList({ query: { page: number, page_size: 25 }, throwOnError: true })).data;
  }
  assert(page.page === page.pages, page);

  await computeInstancesDestroy({ path: { id }, throwOnError: true });
  console.log('done');
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
