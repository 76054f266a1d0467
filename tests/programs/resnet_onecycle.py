'''ResNet in PyTorch, after kuangliu.'''
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
import numpy as np


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, in_planes, planes, stride=1):
        super(BasicBlock, self).__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != self.expansion*planes:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_planes, self.expansion*planes, kernel_size=1, stride=stride, bias=False),
                nn.BatchNorm2d(self.expansion*planes)
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        out = F.relu(out)
        return out


class ResNet(nn.Module):
    def __init__(self, block, num_blocks, num_classes=10):
        super(ResNet, self).__init__()
        self.in_planes = 8
        self.conv1 = nn.Conv2d(3, 8, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.layer1 = self._make_layer(block, 8, num_blocks[0], stride=1)
        self.layer2 = self._make_layer(block, 16, num_blocks[1], stride=2)
        self.layer3 = self._make_layer(block, 32, num_blocks[2], stride=2)
        self.linear = nn.Linear(32*block.expansion, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode='fan_out', nonlinearity='relu')

    def _make_layer(self, block, planes, num_blocks, stride):
        strides = [stride] + [1]*(num_blocks-1)
        layers = []
        for stride in strides:
            layers.append(block(self.in_planes, planes, stride))
            self.in_planes = planes * block.expansion
        return nn.Sequential(*layers)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.layer3(self.layer2(self.layer1(out)))
        out = F.avg_pool2d(out, out.size(-1))
        out = out.view(out.size(0), -1)
        return self.linear(out)


torch.manual_seed(0)
rng = np.random.RandomState(0)
protos = rng.randn(10, 3, 16, 16)
targets = torch.from_numpy(rng.randint(0, 10, 128)).long()
inputs = torch.from_numpy(protos[targets.numpy()] + rng.randn(128, 3, 16, 16)).float()

net = ResNet(BasicBlock, [1, 1, 1])
print(sum(p.numel() for p in net.parameters() if p.requires_grad), 'parameters')
decay, no_decay = [], []
for name, p in net.named_parameters():
    (no_decay if p.ndim == 1 else decay).append(p)
optimizer = torch.optim.SGD([{'params': decay, 'weight_decay': 5e-4}, {'params': no_decay, 'weight_decay': 0.}], lr=0.02, momentum=0.9)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.02, total_steps=16)
criterion = nn.CrossEntropyLoss()
train_loss = correct = total = 0
for epoch in range(4):
    net.train()
    for x, y in zip(inputs.split(32), torch.split(targets, 32)):
        if np.random.RandomState(epoch).rand() < 0.5:
            x = x.flip(-1)
        optimizer.zero_grad()
        outputs = net(x)
        loss = criterion(outputs, y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        train_loss += loss.item()
        _, predicted = outputs.max(1)
        total += y.size(0)
        correct += predicted.eq(y).sum().item()
        print('loss %.6f | Acc: %.3f%% (%d/%d)' % (loss.item(), 100.*correct/total, correct, total))
